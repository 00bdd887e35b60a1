/* SPDX-License-Identifier: Apache-2.0
 * exanet-exec: starts one rank and reports to the launcher how it ended.
 *
 * Problem: ranks are started by us or by somebody else's mpirun, and each of them must (1) have the simulated
 * network interface loaded, while the launchers around it have not; (2) be reported by rank when it cannot start,
 * exits or is killed; (3) never outlive the run, not even when the run's own process is killed and can clean up
 * nothing.
 *
 * Model: a small process between the launcher and the program. It is the reaper of everything the program starts, so
 * that it can end it all; it learns of its own parent's death by a signal, and then removes the shared region too.
 * All signals are blocked and taken one by one with sigwaitinfo(), so nothing here runs in a signal handler.
 *
 *   exanet-exec -- PROGRAM ARGS...           one rank: finds its rank, preloads the library, reports
 *   exanet-exec --guard -- PROGRAM ARGS...   a launcher such as mpirun: tied to our life, and given time to clean up
 *
 * Environment: EXANET_STATUS  "@name" of an abstract Unix datagram socket, or the path of one, for the lines
 *                             "started RANK PID", "failed RANK ERRNO", "ended RANK PID STATUS" (STATUS < 0: minus
 *                             the signal), "counted RANK CYCLES INSTRUCTIONS MISPREDICTED MISSES MISSES"
 *              EXANET_NI      the shared region, removed when the parent dies
 *              EXANET_LIBRARY libexanet-fi.so if it does not lie beside this program
 *              EXANET_BESIDE  names of libraries beside that, with colons between, which are preloaded as well
 *              EXANET_EMULATED  PROGRAM is QEMU: what is preloaded is for the program in it, whose cycles QEMU counts
 *              EXANET_HOST    "@name" of the abstract socket of a host of packed ranks (host.c), which then starts
 *                             the program in our stead
 *
 * Limits: Linux. The exit status is the program's, or 128 + signal; 127 (not found) or 126 when it could not be
 * started. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exanet/cpu_counts.h"
#include "runtime/exec/hosted.h"
#include "runtime/exec/sweep.h"

#define GUARD_GRACE_MS 1500 /* how long a guarded launcher may take to clean up after SIGTERM */

/* Sent by the kernel when our parent ends. A real-time signal, because no program is ended with one: whatever else
   comes is passed on. */
static int parent_died_signal(void) { return SIGRTMIN + 3; }

static const int kForwarded[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                                 SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};

static void die(const char *what, int error) {
  fprintf(stderr, "exanet-exec: %s%s%s\n", what, error ? ": " : "", error ? strerror(error) : "");
  exit(126);
}

/* -- reporting ----------------------------------------------------------------------------------------------------- */
static int report(const char *line) {
  const char *where = getenv("EXANET_STATUS");
  if (!where || !*where) return 0;
  struct sockaddr_un to;
  const socklen_t length = exn_address(where, &to);
  if (!length) return -ENAMETOOLONG;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  /* Blocks while the launcher's queue is full, which is a matter of milliseconds; when the launcher is gone it fails
     at once. */
  ssize_t sent = sendto(fd, line, strlen(line), MSG_NOSIGNAL, (struct sockaddr *)&to, length);
  int error = sent < 0 ? -errno : 0;
  close(fd);
  return error;
}

/* -- what the program finds in its environment --------------------------------------------------------------------- */
static long find_rank(void) {
  static const char *const names[] = {"EXANET_RANK", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    if (!text || !*text) continue;
    char *end;
    errno = 0;
    long rank = strtol(text, &end, 10);
    if (errno || *end || rank < 0 || rank > INT_MAX) {
      fprintf(stderr, "exanet-exec: %s=%s is not a rank\n", names[i], text);
      exit(126);
    }
    return rank;
  }
  die("no rank: none of EXANET_RANK, PMI_RANK, PMIX_RANK, OMPI_COMM_WORLD_RANK is set; start it through `exanet run`",
      0);
  return -1;
}

static void find_library(char *path, size_t size) {
  const char *given = getenv("EXANET_LIBRARY");
  if (given && *given) {
    if (snprintf(path, size, "%s", given) >= (int)size) die("EXANET_LIBRARY is too long", 0);
  } else {
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n < 0) die("/proc/self/exe", errno);
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + sizeof "/libexanet-fi.so" > size)
      die("the installation path is too long", 0);
    memcpy(slash, "/libexanet-fi.so", sizeof "/libexanet-fi.so");
  }
  if (access(path, R_OK)) die(path, errno);
}

/* The program in QEMU preloads `libraries`, QEMU itself nothing. Cycles are counted in a file without a name, which
   ends with the last process that has it. */
static void set_emulated(const char *libraries) {
  char text[32], *setting;
  const int counts = memfd_create("exanet-cpu-counts", 0);
  if (counts < 0 || ftruncate(counts, sizeof(struct exn_cpu_counts))) die("a file for counts of cycles", errno);
  snprintf(text, sizeof text, "%d", counts);
  setenv(EXN_CPU_COUNTS_FD, text, 1);
  if (asprintf(&setting, "LD_PRELOAD=%s", libraries) < 0) die("QEMU_SET_ENV", ENOMEM);
  setenv("QEMU_SET_ENV", setting, 1);
  free(setting);
  unsetenv("LD_PRELOAD");
  personality(ADDR_NO_RANDOMIZE); /* what caches have depends on addresses: the same in every run */
}

/* What QEMU has counted, of all threads. */
static void report_counts(long rank) {
  const char *file = getenv("EXANET_EMULATED") ? getenv(EXN_CPU_COUNTS_FD) : NULL;
  if (!file) return;
  const struct exn_cpu_counts *counts = mmap(NULL, sizeof *counts, PROT_READ, MAP_SHARED, atoi(file), 0);
  if (counts == MAP_FAILED) return;
  struct exn_cpu_thread all = {0};
  for (int i = 0; i < EXN_CPU_THREADS; i++) {
    const struct exn_cpu_thread *thread = &counts->thread[i];
    all.cycles += thread->cycles;
    all.instructions += thread->instructions;
    all.mispredicted += thread->mispredicted;
    for (int level = 0; level < 2; level++) all.misses[level] += thread->misses[level];
  }
  char line[192];
  snprintf(line, sizeof line, "counted %ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, rank, all.cycles,
           all.instructions, all.mispredicted, all.misses[0], all.misses[1]);
  report(line);
}

static void set_environment(long rank) {
  char library[PATH_MAX], text[2 * PATH_MAX];
  snprintf(text, sizeof text, "%ld", rank);
  setenv("EXANET_RANK", text, 1);
  find_library(library, sizeof library);
  /* Behind what is there: a sanitizer's runtime, for one, must come first. The others' wrappers stand before what
     they call. */
  const char *before = getenv("LD_PRELOAD"), *named = getenv("EXANET_BESIDE");
  char *joined = strdup(before ? before : ""), *beside = strdup(named ? named : "");
  if (!joined || !beside) die("LD_PRELOAD", ENOMEM);
  char *slash = strrchr(library, '/'), *rest = NULL;
  for (char *name = strtok_r(beside, ":", &rest); name; name = strtok_r(NULL, ":", &rest)) {
    char *more;
    if (asprintf(&more, "%s%s%.*s/%s", joined, *joined ? ":" : "", (int)(slash - library), library, name) < 0)
      die("LD_PRELOAD", ENOMEM);
    free(joined);
    joined = more;
  }
  char *all;
  if (asprintf(&all, "%s%s%s", joined, *joined ? ":" : "", library) < 0) die("LD_PRELOAD", ENOMEM);
  free(joined);
  free(beside);
  joined = all;
  if (getenv("EXANET_EMULATED"))
    set_emulated(joined);
  else
    setenv("LD_PRELOAD", joined, 1);
  free(joined);
  *slash = 0;
  setenv("FI_PROVIDER_PATH", library, 1);
  setenv("FI_PROVIDER", "exanet", 1);
}

/* -- ending what the program started ------------------------------------------------------------------------------- */
/* Our parent is gone, so nobody will ever ask again: end everything and leave nothing behind. */
static void end_orphaned(pid_t child, int guard) {
  if (guard) {
    kill(child, SIGTERM);
    for (int waited = 0; waited < GUARD_GRACE_MS && waitpid(child, NULL, WNOHANG) == 0; waited += 10) exn_sleep_ms(10);
  }
  kill(child, SIGKILL);
  exn_sweep();
  _exit(128 + SIGKILL);
}

/* -- the program --------------------------------------------------------------------------------------------------- */
/* Starts it; returns its pid, or the negative errno value of exec. A pipe that closes on exec distinguishes the two. */
static pid_t start(char **argv, const sigset_t *mask) {
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC)) return -errno;
  pid_t self = getpid(), child = fork();
  if (child < 0) return -errno;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(126);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int error = errno;
    if (write(pipe_fd[1], &error, sizeof error) != (ssize_t)sizeof error) _exit(125);
    _exit(126);
  }
  close(pipe_fd[1]);
  int error = 0;
  ssize_t n;
  while ((n = read(pipe_fd[0], &error, sizeof error)) < 0 && errno == EINTR) continue;
  close(pipe_fd[0]);
  if (n != (ssize_t)sizeof error) return child;
  waitpid(child, NULL, 0);
  return -error;
}

/* Deals with a signal that is not the end of a child. */
static void pass_on(int number, int code, pid_t child, pid_t parent, int guard) {
  if (number == parent_died_signal()) {
    /* It also comes when only the thread that started us ended; then the parent is still the same process. */
    if (getppid() != parent) end_orphaned(child, guard);
  } else if (code <= 0) {
    /* Only what a process sent: a terminal's Ctrl-C has reached the program by itself. */
    kill(child, number);
  }
}

/* Waits for the program's end and passes signals on meanwhile. Returns its wait status. */
static int attend(pid_t child, pid_t parent, int guard, const sigset_t *set) {
  for (;;) {
    siginfo_t info;
    int signal_number = sigwaitinfo(set, &info);
    if (signal_number < 0) continue;
    if (signal_number == SIGCHLD) {
      int status;
      pid_t reaped;
      while ((reaped = waitpid(-1, &status, WNOHANG)) > 0)
        if (reaped == child) return status;
    } else {
      pass_on(signal_number, info.si_code, child, parent, guard);
    }
  }
}

/* The same of a program that is its host's child. A host that is gone has taken it along. */
static int attend_hosted(pid_t child, pid_t parent, int connection, const sigset_t *set) {
  struct pollfd polled[] = {{.fd = signalfd(-1, set, SFD_CLOEXEC), .events = POLLIN},
                            {.fd = connection, .events = POLLIN}};
  for (;;) {
    if (poll(polled, 2, -1) < 0) continue;
    struct signalfd_siginfo info;
    if (polled[0].revents && read(polled[0].fd, &info, sizeof info) == (ssize_t)sizeof info &&
        info.ssi_signo != SIGCHLD)
      pass_on((int)info.ssi_signo, info.ssi_code, child, parent, 0);
    if (!polled[1].revents) continue;
    struct exn_reply reply;
    return recv(connection, &reply, sizeof reply, 0) == (ssize_t)sizeof reply ? reply.value : SIGKILL;
  }
}

int main(int argc, char **argv) {
  int guard = argc > 1 && strcmp(argv[1], "--guard") == 0;
  int first = 1 + guard;
  if (argc <= first + 1 || strcmp(argv[first], "--")) die("usage: exanet-exec [--guard] -- PROGRAM ARGS...", 0);
  char **program = argv + first + 1;

  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, parent_died_signal());
  for (size_t i = 0; i < sizeof kForwarded / sizeof *kForwarded; i++) sigaddset(&set, kForwarded[i]);
  sigprocmask(SIG_BLOCK, &set, &before);
  pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, parent_died_signal());
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  char line[96];
  long rank = guard ? -1 : find_rank();
  if (!guard) set_environment(rank);
  int connection = -1;
  const bool hosted = !guard && getenv("EXANET_HOST");
  pid_t child = hosted ? exn_ask(program, rank, &before, &connection) : start(program, &before);
  if (hosted && child == 0) {
    /* As a program that its loader cannot start; the host's has said why. */
    snprintf(line, sizeof line, "ended %ld 0 127", rank);
    report(line);
    return 127;
  }
  if (child < 0) {
    snprintf(line, sizeof line, "failed %ld %d", rank, -child);
    if (report(line) || !getenv("EXANET_STATUS"))
      fprintf(stderr, "exanet-exec: %s: %s\n", program[0], strerror(-child));
    return child == -ENOENT ? 127 : 126;
  }
  if (!guard) {
    snprintf(line, sizeof line, "started %ld %d", rank, child);
    /* No launcher means that it died before we asked to be notified of that. */
    if (report(line) == -ECONNREFUSED) end_orphaned(child, guard);
  }
  int status = hosted ? attend_hosted(child, parent, connection, &set) : attend(child, parent, guard, &set);
  exn_sweep();
  int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  if (!guard) {
    report_counts(rank);
    snprintf(line, sizeof line, "ended %ld %d %d", rank, child, code);
    report(line);
  }
  return code < 0 ? 128 - code : code;
}
