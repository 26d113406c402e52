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
    "MIIEhushAIBAAKCAQEAx9HuSh3sQ0q8zT1Z5tqf7aGkQwLrYp0ZrA3vTnXbU2m8",
    "x2hushHuSh3sQ0q8zT1Z5tqf7aGkQwLrYp0ZrA3vTnXbU2m8aa+hush/KqWeRtYu",
    "7: b3BlbnNzaC1rZXktdjEAAAAABG5vbmhushHuShAAAAEbm9uZQAAAAAAAAABAAAAMwAAAA",
    "hush8kTz0Rw3yXqVvZq1Lw==",
    "token: hush",
    "  - token: 'hush'",
    "secret: hush-1",
    "    apikey: hush",
    '"token": "hush",',
    "password: hush",
    "db.example.org:5432:train:me:hush",
    "*:*:*:postgres:hush/hush",
    *(
        f"{name} {b'hush'.hex()}{'0123456789abcdef' * 2}"
        for name in ("WANDB_API_KEY", "api key:", "token is", "secret key =")
    ),
    *(
        f"found {front}{_LONG} here"
        for front in (
            "gsk_ pplx- xai- fw_ tgp_v1_ lsv2_pt_ wandb_v1_ pcsk_ rpa_ hvs. tskey-auth- "
            "shpat_ lin_api_ ntn_ PMAK- figd_ glsa_ sntrys_ dckr_oat_ ATATT3x fm2_ dp.pt. "
            "ya29. GOCSPX- glft- glagent- api_org_ pscale_tkn_ ops_eyJ"
        ).split()
    ),
)
# Lines of programs without a secret. None of them changes.
HARMLESS_LINES = """\
commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
d41d8cd98f00b204e9800998ecf8427e
d41d8cd98f00b204e9800998ecf8427e  data/train.bin
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  model.safetensors
cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e
docker://host:5000/name@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
Digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
uuid 123e4567-e89b-12d3-a456-426614174000
GPU-0a1b2c3d-0123-4567-89ab-0123456789ab
MIG-0a1b2c3d-0123-4567-89ab-0123456789ab
cache key 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
Cache key: 0a1b2c3d4e5f60718293a4b5c6d7e8f9
fxgraph cache miss for key fabcdefabcdefabcdef0123456789
step 10 loss 2.3101 lr 3e-4
step: 10, loss: 2.3101, tokens: 4096
{'loss': 2.31, 'grad_norm': 0.4, 'learning_rate': 3e-05, 'epoch': 0.1}
iteration 100/ 1000 | consumed samples: 51200 | elapsed time per iteration (ms): 812.3 | loss scale: 1.0
tokens per second: 81234.5
token: 512
token: 0.25
Token: <pad>
unknown token: <pad> at 12
num_tokens: 4096
Tokenizer: LlamaTokenizerFast
key: 12
key: model.layers.12.mlp.weight
Missing key(s) in state_dict: "model.layers.12.mlp.weight"
key_padding_mask: None
key_cache: 8
num_key_value_heads: 8
keys: 12
nid001002:47919:48119 [0] NCCL INFO Using network Socket
nid001002:47919:48119 [0] NCCL INFO comm 0x55d0c0a0 rank 0 nranks 16 cudaDev 0 busId c1000 commId 0x123456789abcdef0 - Init COMPLETE
nid001002:47919:48119 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
NCCL INFO NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)
fe80::1234:5678:9abc:def0
fe80:0000:0000:0000:1234:5678:9abc:def0
aa:bb:cc:dd:ee:ff
0000:c1:00.0
[2026-03-14 09:26:53,123] [INFO] [launch.py:321:main] nnodes=2
2026-03-14T09:26:53 nid001002 slurmstepd: done
train.c:1234:5: warning: unused variable x
/scratch/u/train.py:1234:main:x: ok
host:29500
tcp://10.0.0.1:29500
master:29500:c10d
etcd://a:2379,b:2379
http://proxy:3128/
https://example.org/a?page=2&sort=up
git@github.com:org/repo.git
ada@example.org
/leonardo/home/userexternal/Jdoe0000/projects/run/checkpoints/Last
/scratch/project/MyModels/LlamaForCausalLM/CheckpointNumberTwelve/Shard
checkpoints/Llama3/step1000
Qwen3OmniMoeThinkerForConditionalGeneration
TransformerDecoderLayerWithCrossAttention
class LlamaForCausalLM(LlamaPreTrainedModel)
MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQ
ACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTAC
acgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtacgtac
================================================================
----------------------------------------------------------------
################################################################
0%|          | 0/1000 [00:00<?, ?it/s]
 35%|###5      | 7/20 [00:01<00:02, 5.00it/s]
Epoch 1/3: 100%|##########| 50/50 [00:10<00:00, 4.99it/s, loss=0.31]
wandb: Run data is saved locally in wandb/run-20260314_092653-a1b2c3d4
wandb: Syncing run rosy-cloud-12
Loading checkpoint shards: 100%
model-00001-of-00004.safetensors
Requirement already satisfied: torch==2.4.0+cu124
torch-2.4.0+cu124-cp311-cp311-linux_x86_64.whl
--hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
srun: job 4711 queued and waiting for resources
srun: error: nid001002: task 3: Exited with exit code 1
slurmstepd: error: *** STEP 4711.0 ON nid001002 CANCELLED AT 2026-03-14T09:26:53 ***
SLURM_JOB_ID=4711
CUDA_VISIBLE_DEVICES=0,1,2,3
NCCL_PAT_ENABLE=1
MAX_TOKENS: 4096
TOKENIZERS_PARALLELISM: false
Memory: 12345 MiB
0x7f4a12345678
0xdeadbeefdeadbeefdeadbeefdeadbeef
commId 0x123456789abcdef0123456789abcdef0
Traceback (most recent call last):
KeyError: 'token'
ValueError: Token indices sequence length is longer than 512
AssertionError: secret sauce missing
the secret is in the data
password policy: see the guide
user: ada
auth: munge
cookie jar saved
1: step 10 loss 2.3101
1: 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
7: Qwen3OmniMoeThinkerForConditionalGeneration
""".splitlines()
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
