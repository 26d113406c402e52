"""Variables with secrets, and harmless ones of similar names or values."""

from __future__ import annotations

# Each value contains "hush".
SECRET_NAMES = """
WANDB_API_KEY OPENAI_API_KEY API_KEY APIKEY MY_APIKEY AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
AWS_ACCESS_KEY_ID AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN
HF_TOKEN HUGGING_FACE_HUB_TOKEN GITHUB_TOKEN GH_PAT GITHUB_PAT GITLAB_PAT CI_JOB_TOKEN
HF_TOKEN_WRITE MYSQL_PWD PGPASSWORD DB_PASSWORD DB_PASSWD DB_PASS SSHPASS SMTP_PASS
SENTRY_DSN DATABASE_DSN SLACK_WEBHOOK_URL DISCORD_WEBHOOK SLACK_BOT_TOKEN SLURM_JWT
REDISCLI_AUTH NPM_AUTH BASIC_AUTH PMI_SHARED_SECRET CLIENT_SECRET SESSION_COOKIE
GOOGLE_CREDENTIALS SSH_PRIVATE_KEY KEY_PASSPHRASE MASTER_KEY ENCRYPTION_KEY SIGNING_KEY
LICENSE_KEY COMET_API_KEY NGC_API_KEY NEPTUNE_API_TOKEN MLFLOW_TRACKING_PASSWORD
MLFLOW_TRACKING_TOKEN KAGGLE_KEY VAULT_TOKEN TELEGRAM_BOT_TOKEN my_token My_Secret
""".split()
_LONG = "hush0123456789abcdefhush0123456789ab"
SECRET_VALUES = (
    "http://me:hush1@proxy:3128",
    "postgresql://me:hu/hush@db/train",
    "mongodb://:hush77@db",
    f"https://{_LONG}@o1.ingest.sentry.io/2",
    "https://site/data?x=1&access_token=hushhush",
    "https://store/blob?sv=2024&sig=hush%2Fhush%3D",
    "Server=db;Password=hush;Database=x",
    "AccountName=x;AccountKey=hushhush==;EndpointSuffix=y",
    f"Bearer {_LONG}",
    "AKIA" + "HUSH" * 4,
    f"ghp_{_LONG}",
    f"github_pat_{_LONG}",
    f"glpat-{_LONG}",
    f"hf_{_LONG}",
    f"sk-{_LONG}",
    f"sk-proj-{_LONG}",
    f"xoxb-{_LONG}",
    f"nvapi-{_LONG}",
    "eyJhbGciOiJIUzI1NiJ9.eyJodXNoIjoxhush.hush_hush",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----",
    f"https://hooks.slack.com/services/{_LONG}",
    f"https://discord.com/api/webhooks/1/{_LONG}",
)
# Lines of programs, each with a secret in a form of its own.
SECRET_LINES = (
    'curl -H "Authorization: Bearer hush12" https://x',
    "curl -H 'Authorization: token hush1234'",
    "[('authorization', 'token hush')]",
    "headers={b'Authorization': b'Bearer hush'}",
    'Authorization: Digest username="me", response="hush", nonce="hushn"',
    '-H "X-API-Key: hush1234"',
    "Cookie: session=hush123; csrf=hush456",
    "curl -u me:hush https://x",
    "skopeo copy --src-creds me:hush a b",
    "sshpass -p hush ssh x",
    "mysql -u root -phush db",
    "docker login -u me -p hush ghcr.io",
    f"wandb login {_LONG}",
    "https://me:hu@hush@host/x",
    "https://me@example.org:hush@host/x",
    "https://hush1234:x-oauth-basic@github.com/x",
    "jdbc:oracle:thin:scott/hush@h:1521",
    "DRIVER={X};SERVER=h;UID=a;PWD=hush;",
    "https://b/o?AWSAccessKeyId=hush&Signature=hush2&Expires=1",
    "https://d/x?Policy=hushpol&Signature=hush&Key-Pair-Id=hushkp",
    "https://x/cb#id_token=hush&state=1",
    '{"log":"{\\"api_key\\":\\"hush\\"}"}',
    '{"api_keys": ["hush1", "hush2"]}',
    '{"name": "HF_TOKEN", "value": "hush"}',
    "apiKey: hush",
    "machine api.wandb.ai login user password hush",
    "setenv WANDB_API_KEY hush",
    "mpiexec -genv WANDB_API_KEY hush ./a",
    "export WANDB_API_KEY='a'\"'\"'hush'",
    "WANDB_API_KEY+=hush ${HF_TOKEN:-hush} ${HF_TOKEN:=hush}",
    ':password => "hush"',
    'Config { password: "hush", x: 1 }',
    "--token=hush -token hush ['--hf-token=hush']",
    '<password>hush</password> <property name="password" value="hush"/>',
    "\x1b[32mWANDB_API_KEY\x1b[0m=\x1b[31mhush\x1b[0m",
    '\x1b[34m"token"\x1b[0m: \x1b[32m"hush"\x1b[0m',
    "--token\thush",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nhush",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nhush",
    "Private-Lines: 8\nhush",
    "Incorrect API key provided: hush-0123456789",
    "invalid token 'hush01234'",
    'auth=("me", "hush") auth=HTTPBasicAuth("me", "hush")',
    "HF_TOKEN -> hush",
    f"https://x.webhook.office.com/webhookb2/{_LONG}",
    "bot123456789:AAhush0123456789abcdefghijklmnopqrs/getMe",
    f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{_LONG}",
    *(
        f"found {front}{_LONG} here"
        for front in (
            "gsk_ pplx- xai- fw_ tgp_v1_ lsv2_pt_ wandb_v1_ pcsk_ rpa_ hvs. tskey-auth- "
            "shpat_ lin_api_ ntn_ PMAK- figd_ glsa_ sntrys_ dckr_oat_ ATATT3x fm2_ dp.pt. "
            "ya29. GOCSPX- glft- glagent- api_org_ pscale_tkn_ ops_eyJ"
        ).split()
    ),
)
HARMLESS = {
    "NCCL_DEBUG": "INFO",
    "NCCL_SOCKET_IFNAME": "hsn0,hsn1",
    "NCCL_PAT_ENABLE": "1",
    "NCCL_IB_PKEY": "3",
    "OFI_NCCL_MR_KEY_SIZE": "2",
    "FI_CXI_PROV_KEY_CACHE": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "TOKENIZER": "/models/tok",
    "MAX_TOKENS": "4096",
    "MAX_MODEL_TOKENS": "8192",
    "KEYBOARD": "de",
    "KEYMAP": "us",
    "MONKEY": "patched",
    "SSH_AUTH_SOCK": "/tmp/ssh-1/agent",
    "SLURM_AUTH_TYPE": "munge",
    "GIT_AUTHOR_NAME": "Ada",
    "AUTHOR": "Ada",
    "BYPASS": "yes",
    "COMPASS_MODE": "north",
    "NUM_PASSES": "3",
    "PASSES": "2",
    "PATTERN": "*.bin",
    "CPATH": "/usr/include",
    "COMPAT_PATH": "/lib/compat",
    "HF_HOME": "/scratch/hf_home_of_models_and_more",
    "TASK": "task-0123456789abcdefghij0123456789",
    "RISK": "disk-0123456789abcdefghij0123456789",
    "IMAGE": "docker://host:5000/name@sha256:0123456789abcdef",
    "MASTER": "tcp://10.0.0.1:29500",
    "PROXY": "http://proxy:3128/",
    "ENDPOINT": "etcd://a:2379,b:2379",
    "MAIL": "ada@example.org",
    "WEBSITE": "https://example.org/a?page=2&sort=up",
    "SIGNAL": "B:USR1@300",
    "MONKEYS": "12",
    "KEYS_PER_NODE": "8",
    "PRIVATE_NETWORK": "10.0.0.0/8",
    "SASS_PATH": "/css",
    "DSNAME": "imagenet",
    "SECONDS_PER_STEP": "2",
    "BASICS": "Basic 3",
    "COOKING": "1",
    "USER_AND_GROUP": "docker run --user 1000:1000 image",
    "MISSING": "Missing key: model.layers.12.mlp.weight",
    "TOKENS": "unknown token: <pad> at 12",
    "NODE_AND_PID": "nid001002:47919:48119 [0] NCCL INFO Using network Socket",
    "STEPS_OF_KEYS": "as-in-a-very-long-hyphenated-name fw_some_long_name_of_python",
    "GPU": "GPU-0a1b2c3d-0123-4567-89ab-0123456789ab",
}


def secrets() -> dict[str, str]:
    """Return the variables with a secret name or value."""
    named = {name: f"hush-{number}" for number, name in enumerate(SECRET_NAMES)}
    valued = {f"VALUE{number}": value for number, value in enumerate(SECRET_VALUES)}
    return {**named, **valued}
