/* A plug-in of Slurm's that puts the tasks of a step into a container, as Pyxis does.
 *
 * It stands for Pyxis 0.24.0 with Enroot 4.1.2, and for CSCS' Container Engine, where these
 * cannot be installed. srun itself reads its options, and of several the last counts. What
 * they mean, container_plugin.py says, once for each node and step; what it writes is done
 * here, for each task: mounts, root, folder, variables. The program is started by slurmstepd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

SPANK_PLUGIN(container_standin, 1)

#ifndef READER
#error "READER: the path of container_plugin.py"
#endif

enum { IMAGE, MOUNTS, WORKDIR, ENV, WRITABLE, NO_ENTRYPOINT, ENVIRONMENT, COUNT };
static const char *names[COUNT] = {"image",    "mounts",        "workdir",    "env",
                                   "writable", "no-entrypoint", "environment"};
static char *given[COUNT];
static char folder[128]; /* of this step, on this node */
static char *plan, *plan_end;

static int take(int which, const char *value, int remote) {
  (void)remote;
  free(given[which]);
  given[which] = strdup(value ? value : "");
  return given[which] ? ESPANK_SUCCESS : ESPANK_ERROR;
}

static struct spank_option options[] = {
    {"container-image", "IMAGE", "the image of the container", 1, IMAGE, take},
    {"container-mounts", "SRC:DST[:FLAGS][,...]", "what is mounted into it", 1, MOUNTS, take},
    {"container-workdir", "PATH", "where its program starts", 1, WORKDIR, take},
    {"container-env", "NAME[,...]", "variables of the host that win", 1, ENV, take},
    {"container-writable", NULL, "it can be written to", 0, WRITABLE, take},
    {"no-container-entrypoint", NULL, "without its entrypoint", 0, NO_ENTRYPOINT, take},
    {"environment", "NAME|FILE", "a file that defines the environment", 1, ENVIRONMENT, take},
    SPANK_OPTIONS_TABLE_END};

static int is_active(void) { return given[IMAGE] || given[ENVIRONMENT]; }

int slurm_spank_init(spank_t sp, int ac, char **av) {
  (void)ac, (void)av;
  for (int i = 0; options[i].name; i++)
    if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
      return -1;
  return 0;
}

static char *read_file(const char *name, char **end) {
  char path[256], *text = malloc(1 << 20);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 || !text ? -1 : read(file, text, (1 << 20) - 1);
  if (file >= 0)
    close(file);
  if (size < 0) {
    free(text);
    return NULL;
  }
  text[size] = 0;
  *end = text + size;
  return text;
}

/* As the user, before there are tasks: let the reader prepare the container. */
int slurm_spank_user_init(spank_t sp, int ac, char **av) {
  uint32_t job = 0, step = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  char **host = NULL, *words[2 * COUNT + 5], *end;
  int count = 0, status = 0;
  char usual[4096]; /* what holds for every step that says nothing else */
  (void)ac, (void)av;
  if (!is_active() &&
      spank_getenv(sp, "PYXIS_CONTAINER_IMAGE", usual, sizeof usual) == ESPANK_SUCCESS)
    given[IMAGE] = strdup(usual);
  if (!is_active())
    return 0;
  spank_get_item(sp, S_JOB_ID, &job);
  spank_get_item(sp, S_JOB_STEPID, &step);
  spank_get_item(sp, S_JOB_UID, &uid);
  spank_get_item(sp, S_JOB_GID, &gid);
  spank_get_item(sp, S_JOB_ENV, &host);
  snprintf(folder, sizeof folder, "/tmp/container.%u.%u", job, step);
  words[count++] = "python3";
  words[count++] = "-I";
  words[count++] = READER;
  words[count++] = folder;
  for (int i = 0; i < COUNT; i++)
    if (given[i]) {
      words[count++] = (char *)names[i];
      words[count++] = given[i];
    }
  words[count] = NULL;
  pid_t child = fork();
  if (child == 0) {
    if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
      _exit(126);
    execve("/usr/bin/python3", words, host);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
    char *said = read_file("error", &end);
    slurm_error("pyxis: %s", said ? said : "cannot prepare the container");
    return 0; /* the tasks fail, as with Pyxis; if the step did, srun would end with 0 */
  }
  plan = read_file("plan", &plan_end);
  return 0;
}

/* The plan is a list of texts, each with a NUL: a kind, then what belongs to it. */
static char *next(char **at) {
  char *text = *at;
  *at += strlen(text) + 1;
  return text;
}

static int fail(const char *what, const char *path) {
  slurm_error("pyxis: %s %s: %s", what, path, strerror(errno));
  return -1;
}

int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av) {
  char path[4096];
  (void)sp, (void)ac, (void)av;
  if (!is_active())
    return 0;
  if (!plan)
    return -1;
  if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
    return fail("cannot separate", "mounts");
  for (char *at = plan; at < plan_end;) {
    char kind = *next(&at);
    if (kind == 'M') {
      char *source = next(&at), *target = next(&at), *flags = next(&at);
      snprintf(path, sizeof path, "%s%s%s", folder, "/root", target);
      if (mount(source, path, NULL, MS_BIND | MS_REC, NULL))
        return fail("cannot mount at", path);
      if (strstr(flags, "ro") && mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
        return fail("cannot protect", path);
    } else if (kind == 'W') {
      char *workdir = next(&at);
      snprintf(path, sizeof path, "%s%s", folder, "/root");
      if (chroot(path) || chdir(workdir))
        return fail("cannot enter", workdir);
    } else {
      next(&at);
    }
  }
  return 0;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av) {
  uint32_t rank = 0;
  int local = 0;
  char number[16];
  (void)ac, (void)av;
  if (!is_active())
    return 0;
  for (char *at = plan; at < plan_end;) {
    char kind = *next(&at);
    char *text = next(&at);
    if (kind == 'M') {
      next(&at);
      next(&at);
    } else if (kind == 'U') {
      spank_unsetenv(sp, text);
    } else if (kind == 'E') {
      char *value = strchr(text, '=');
      *value++ = 0;
      spank_setenv(sp, text, value, 1);
    } else if (kind == 'R') { /* Pyxis does so for images with PyTorch */
      spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
      spank_get_item(sp, S_TASK_ID, &local);
      snprintf(number, sizeof number, "%u", rank);
      spank_setenv(sp, "RANK", number, 1);
      snprintf(number, sizeof number, "%d", local);
      spank_setenv(sp, "LOCAL_RANK", number, 1);
    }
  }
  return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av) {
  (void)sp, (void)ac, (void)av;
  if (!*folder)
    return 0;
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", "--one-file-system", "--", folder, NULL);
    _exit(127);
  }
  return child < 0 || waitpid(child, NULL, 0) < 0 ? -1 : 0;
}
