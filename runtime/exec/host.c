/* SPDX-License-Identifier: Apache-2.0
 * The host of packed ranks: one address space, and in it each rank a process of its own.
 *
 * Problem: with an address space a rank, much of what a message costs is the MPI library run with cold translation
 * buffers after each switch between ranks. Ranks that share one map switch without that, but must stay processes:
 * own pid, signals, files, libc and MPI library.
 *
 * Model: the host is the ranks' own program, executed once with this object preloaded, so that /proc/self/exe,
 * $ORIGIN and the command line are what they should be; it comes no further than this constructor, which runs before
 * all others. For each rank it maps the program and its loader afresh (load.c) and starts them with clone(CLONE_VM),
 * without CLONE_THREAD, CLONE_FILES or CLONE_SIGHAND. Requests come from exanet-exec, which holds the rank's place
 * among its launcher's processes (hosted.h). The program break, of which an address space has one, is closed.
 *
 * Ranks end with a signal that is not SIGCHLD, so that the kernel distinguishes them from orphans that have come to
 * us: waitpid() without __WALL sees only orphans, and the environment says whose they are.
 *
 * The simulator may be here, too, on a thread that workers take as they take ranks: then a round needs no switch of
 * processes.
 *
 * Environment: EXANET_HOST_FILES  "L,R": file descriptors of the listening socket, and of one that ends when
 *                                        the run does
 *              EXANET_SIMULATOR_LIBRARY  the simulator's shared object, and
 *              EXANET_ORDER              the path of what it is to run (runtime/hosted/simulator.h) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/exec/hosted.h"
#include "runtime/exec/sweep.h"
#include "runtime/exec/workers.h"
#include "runtime/hosted/simulator.h"

#define RANK_ENDED SIGUSR1
#define MOST_RANKS 65536 /* more than one address space has mappings for */
#define OF_HOST 3 /* what is polled beside the ranks' connections: */
enum { LISTENS, RUN_ENDS, CHILD_ENDS };

struct rank {
  pid_t pid; /* 0: it has ended */
  uint32_t number;
  int status;
  bool reported; /* of its end */
};

struct simulation {
  const char *library, *order, *region;
};

static struct pollfd *polled; /* OF_HOST, then one for each rank */
static struct rank *ranks;
static size_t rank_count;
static uintptr_t workers; /* for the ranks' auxiliary vectors, or 0 */

/* -- in the new process, before its program ------------------------------------------------------------------------ */
struct birth {
  struct exn_request *request;
  struct exn_image image;
  const int *files; /* the working directory, then what the program inherits */
  int ready; /* end of a pipe */
  pid_t host;
};

static void set_signals(const struct exn_request *request) {
  for (int number = 1; number < NSIG; number++) {
    const bool ignored = number <= 64 && request->ignored >> (number - 1) & 1;
    signal(number, ignored ? SIG_IGN : SIG_DFL);
  }
  sigset_t blocked;
  sigemptyset(&blocked);
  for (int number = 1; number <= 64; number++)
    if (request->blocked >> (number - 1) & 1) sigaddset(&blocked, number);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* Says by the pipe why there will be no program. */
static _Noreturn void fail(int ready) {
  const unsigned char error = (unsigned char)errno;
  if (write(ready, &error, 1) != 1) _exit(125);
  _exit(126);
}

static bool is_among(int file, const int *files, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (files[i] == file) return true;
  return false;
}

/* Closes all files but these. */
static void close_others(const int *kept, uint32_t count) {
  for (unsigned from = 0;;) {
    unsigned next = ~0u;
    for (uint32_t i = 0; i < count; i++)
      if ((unsigned)kept[i] >= from && (unsigned)kept[i] < next) next = (unsigned)kept[i];
    if (next > from) syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0);
    if (next == ~0u) return;
    from = next + 1;
  }
}

/* Moves a file to a number that is nobody's. Returns it, or a negative one. */
static int move_away(int file, const int *numbers, uint32_t count) {
  for (int number = 0; (number = fcntl(file, F_DUPFD, number)) >= 0; number++) {
    if (!is_among(number, numbers, count)) return number;
    close(number);
  }
  return -1;
}

/* Gives a file its number, for the program too. Returns a negative one, with errno, where that cannot be. */
static int set_number(int file, int number) {
  if (file == number) return fcntl(number, F_SETFD, 0);
  if (file >= 0 && number >= 0) return dup2(file, number);
  errno = EBADF;
  return -1;
}

/* Gives each inherited file its number and closes all others. Returns where `ready` is then. Few numbers do: there
   may be no more. */
static int set_files(const struct birth *birth) {
  const struct exn_request *request = birth->request;
  const uint32_t count = request->files;
  int files[EXN_MOST_FILES + 1], kept[EXN_MOST_FILES + 1]; /* `ready` behind them */
  for (uint32_t i = 0; i < count; i++) {
    files[i] = birth->files[1 + i];
    kept[i] = request->targets[i];
  }
  files[count] = birth->ready;
  close_others(files, count + 1);
  struct rlimit limit;
  const bool limited = getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                       setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit.rlim_max, limit.rlim_max}) == 0;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t later = i + 1; later <= count; later++) {
      if (files[later] != kept[i]) continue;
      const int moved = move_away(files[later], kept, count);
      if (moved < 0) fail(files[count]);
      files[later] = moved;
    }
    if (set_number(files[i], kept[i]) < 0) fail(files[count]);
  }
  kept[count] = files[count];
  close_others(kept, count + 1);
  if (limited) setrlimit(RLIMIT_NOFILE, &limit);
  return files[count];
}

/* Uses the host's C library, which waits for it meanwhile; after the last write to the pipe nothing of the host's
   any more. */
static int be_born(void *argument) {
  const struct birth *birth = argument;
  const struct exn_request *request = birth->request;
  const struct exn_image image = birth->image;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != birth->host) _exit(126);
  setpgid(0, request->process_group); /* where the launcher looks for it; fails when it is there already */
  if (fchdir(birth->files[0])) fail(birth->ready);
  umask(request->umask);
  const int ready = set_files(birth);
  set_signals(request);
  const char done = 0;
  __asm__ volatile(
      "syscall\n\t" /* write(ready, &done, 1) */
      "mov $3, %%eax\n\t"
      "syscall\n\t" /* close(ready) */
      "mov %[stack], %%rsp\n\t"
      "xor %%edx, %%edx\n\t" /* no function for atexit() */
      "xor %%ebp, %%ebp\n\t"
      "jmp *%[entry]"
      :
      : "a"(1), "D"((long)ready), "S"(&done), "d"(1L), [stack] "r"(image.stack), [entry] "r"(image.entry)
      : "rcx", "r11", "memory");
  __builtin_unreachable();
}

/* -- starting ------------------------------------------------------------------------------------------------------ */
static struct exn_request *map_request(int file) {
  struct stat status;
  if (fstat(file, &status) || (size_t)status.st_size < sizeof(struct exn_request)) return NULL;
  /* The rank's own from here on: its arguments and its environment lie in it. */
  struct exn_request *request = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (request == MAP_FAILED) return NULL;
  if (request->bytes == (uint64_t)status.st_size && request->files <= EXN_MOST_FILES) return request;
  munmap(request, (size_t)status.st_size);
  return NULL;
}

/* Returns the new process's pid, or a negative errno value. */
static pid_t start(struct exn_request *request, const int *files) {
  struct birth birth = {.request = request, .files = files, .host = getpid()};
  const int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (program < 0) return -errno;
  const int error = exn_load(program, request, workers, &birth.image);
  close(program);
  if (error) return error;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return -errno;
  birth.ready = ends[1];
  const pid_t pid = clone(be_born, (void *)birth.image.below, CLONE_VM | RANK_ENDED, &birth);
  const int clone_error = errno;
  close(ends[1]);
  unsigned char done = 0; /* 0, or an errno value */
  ssize_t n = -1;
  while (pid > 0 && (n = read(ends[0], &done, 1)) < 0 && errno == EINTR) continue;
  close(ends[0]);
  if (pid < 0) return -clone_error;
  if (n == 1 && done == 0) return pid;
  waitpid(pid, NULL, __WALL);
  return n == 1 ? -done : -ECHILD;
}

static void reply(int connection, enum exn_reply_kind kind, int value) {
  const struct exn_reply message = {kind, value};
  send(connection, &message, sizeof message, MSG_NOSIGNAL);
}

static bool of_our_user(int connection) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* The descriptors of one request: the file in memory, the working directory, what is inherited. Returns how many. */
static size_t receive_files(int connection, int *files) {
  char byte;
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE((EXN_MOST_FILES + 2) * sizeof(int))];
  } control;
  struct iovec data = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return 0;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return 0;
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  memcpy(files, CMSG_DATA(header), count * sizeof(int));
  return count;
}

static void note_rank(pid_t pid, uint32_t number, int connection) {
  ranks[rank_count] = (struct rank){.pid = pid, .number = number};
  polled[OF_HOST + rank_count++] = (struct pollfd){.fd = connection};
}

static void serve(void) {
  const int connection = accept4(polled[LISTENS].fd, NULL, NULL, SOCK_CLOEXEC);
  if (connection < 0) return;
  int files[EXN_MOST_FILES + 2];
  const size_t count = of_our_user(connection) ? receive_files(connection, files) : 0;
  struct exn_request *request = count >= 2 && rank_count < MOST_RANKS ? map_request(files[0]) : NULL;
  const pid_t pid = request && count == request->files + 2 ? start(request, files + 1) : -EPROTO;
  for (size_t i = 0; i < count; i++) close(files[i]);
  if (pid < 0) {
    reply(connection, EXN_REPLY_FAILED, -pid);
    close(connection);
    return;
  }
  note_rank(pid, request->rank, connection);
  reply(connection, EXN_REPLY_STARTED, pid);
}

/* -- ending -------------------------------------------------------------------------------------------------------- */
/* Whether it belongs to somebody else than this rank: ranks themselves, and what other ranks have left behind. */
static int is_spared(pid_t child, void *rank) {
  for (size_t i = 0; i < rank_count; i++)
    if (ranks[i].pid == child) return 1;
  char path[64], name[32];
  snprintf(path, sizeof path, "/proc/%d/environ", child);
  const size_t length = 1 + (size_t)snprintf(name, sizeof name, "EXANET_RANK=%u", ((const struct rank *)rank)->number);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  char *entry = NULL;
  size_t capacity = 0;
  int anothers = 0;
  for (ssize_t n; (n = getdelim(&entry, &capacity, 0, file)) > 0;)
    if (strncmp(entry, "EXANET_RANK=", 12) == 0) anothers = (size_t)n != length || memcmp(entry, name, length) != 0;
  free(entry);
  fclose(file);
  return anothers;
}

static void note_status(struct rank *rank, int status) {
  if (WIFSTOPPED(status)) {
    exn_workers_recall(rank->number);
    return;
  }
  rank->pid = 0;
  rank->status = status;
  exn_workers_forget(rank->number);
}

/* Takes the status of whatever has ended, by waitpid()'s options. */
static void take(int options) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | options)) > 0;)
    for (size_t i = 0; i < rank_count; i++)
      if (ranks[i].pid == pid) note_status(&ranks[i], status);
}

/* Ends what the rank has left behind. Each round's victims leave their own children to us, so it goes on until there
   are none. */
static void sweep_after(struct rank *rank) {
  for (int round = 0; round < 1000; round++) {
    take(0); /* also a rank that has executed something: it now ends with SIGCHLD */
    if (errno == ECHILD || exn_kill_children(is_spared, rank) == 0) return;
    exn_sleep_ms(2);
  }
}

static void reap(void) {
  struct signalfd_siginfo ended;
  while (read(polled[CHILD_ENDS].fd, &ended, sizeof ended) > 0) continue;
  take(__WALL | WUNTRACED);
  for (size_t i = 0; i < rank_count; i++) {
    if (ranks[i].pid || ranks[i].reported) continue;
    ranks[i].reported = true;
    sweep_after(&ranks[i]);
    reply(polled[OF_HOST + i].fd, EXN_REPLY_ENDED, ranks[i].status);
  }
}

static void hear(size_t i) {
  struct pollfd *connection = &polled[OF_HOST + i];
  if (connection->fd < 0 || !connection->revents) return;
  /* exanet-exec says nothing more: it has ended. */
  if (ranks[i].pid) kill(ranks[i].pid, SIGKILL);
  close(connection->fd);
  connection->fd = -1;
}

/* An address space has one program break, and each rank's C library would believe it its own. Where the kernel
 * refuses to move it malloc() takes memory from mmap(). */
static void close_break(void) {
  const uintptr_t at = (uintptr_t)sbrk(0), page = 4096, next = (at + page - 1) & ~(page - 1);
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if ((next > at && brk((void *)next)) ||
      (mmap((void *)next, page, PROT_NONE, kind, -1, 0) == MAP_FAILED && errno != EEXIST)) {
    perror("exanet: the program break of packed ranks");
    _exit(126);
  }
}

static void supervise_workers(void) {
  static struct timespec last;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if ((now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 < EXN_WORKERS_CHECK_MS) return;
  last = now;
  exn_workers_check();
}

/* -- the simulator ------------------------------------------------------------------------------------------------- */
static void *simulate(void *argument) {
  const struct simulation *simulation = argument;
  const struct exn_simulator_calls *calls = exn_workers_take_simulator();
  /* With the system's malloc() and such, and not the program's, which has not begun. */
  void *library = calls ? dlopen(simulation->library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
  exn_simulate_function *run = NULL;
  if (library) *(void **)&run = dlsym(library, EXN_SIMULATE);
  if (run)
    run(simulation->region, simulation->order, calls);
  else
    exn_workers_leave_simulator();
  return NULL;
}

static void start_simulator(char **variables) {
  static struct simulation simulation;
  pthread_t thread;
  simulation = (struct simulation){exn_variable(variables, "EXANET_SIMULATOR_LIBRARY"),
                                   exn_variable(variables, "EXANET_ORDER"), exn_variable(variables, "EXANET_NI")};
  if (!simulation.library || !simulation.order || !simulation.region) return;
  if (!exn_workers_run() || pthread_create(&thread, NULL, simulate, &simulation)) exn_workers_leave_simulator();
}

static void host(int listens, int run_ends, char **variables) {
  sigset_t all, children;
  close_break();
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  sigemptyset(&children);
  sigaddset(&children, RANK_ENDED);
  sigaddset(&children, SIGCHLD);
  workers = exn_workers_start(variables);
  start_simulator(variables);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  polled = calloc(OF_HOST + MOST_RANKS, sizeof *polled);
  ranks = calloc(MOST_RANKS, sizeof *ranks);
  if (!polled || !ranks) abort();
  polled[LISTENS] = (struct pollfd){.fd = listens, .events = POLLIN};
  polled[RUN_ENDS] = (struct pollfd){.fd = run_ends, .events = POLLIN};
  polled[CHILD_ENDS] = (struct pollfd){.fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN};
  for (;;) {
    if (poll(polled, OF_HOST + rank_count, exn_workers_run() ? EXN_WORKERS_CHECK_MS : -1) < 0) continue;
    supervise_workers();
    if (polled[RUN_ENDS].revents) break;
    if (polled[CHILD_ENDS].revents) reap();
    for (size_t i = 0; i < rank_count; i++) hear(i);
    if (polled[LISTENS].revents) serve();
  }
  exn_sweep();
  _exit(0);
}

/* Nothing of the program's has run yet, nor has the C library noted its environment. */
static __attribute__((constructor)) void begin(int argc, char **argv, char **variables) {
  int listens, run_ends;
  (void)argc, (void)argv;
  for (char **each = variables; *each; each++)
    if (sscanf(*each, "EXANET_HOST_FILES=%d,%d", &listens, &run_ends) == 2) host(listens, run_ends, variables);
}
