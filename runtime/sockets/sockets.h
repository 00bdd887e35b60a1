/* SPDX-License-Identifier: Apache-2.0
 * Sockets of TCP and UDP over the simulated network, as the files of this folder share them.
 *
 * Problem: an unmodified program reaches other ranks by the host's sockets. Its bytes are there at once, and its calls
 * wait for the host.
 *
 * Model: bytes of streams go through sockets of the host, between ports that it chooses; datagrams go over the
 * simulated network whole, and their sockets of the host are never used. What the program may know of them is kept
 * here: how many bytes have come in virtual time, how many the other end has not read, which connections have come.
 * Each call is answered by that. What goes to the other end goes as segments over the simulated network, too, before
 * the other end may see it. A rank is the host rank0, rank1, ... with an address of its own.
 *
 * Files stand in layers, and use only those below: kernel | mailbox | streams | waits | names, ready, epoll |
 * datagrams | transfer, options, open. */
#ifndef EXANET_SOCKETS_SOCKETS_H
#define EXANET_SOCKETS_SOCKETS_H

#define EXPORT __attribute__((visibility("default")))

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/lib/internal.h"

enum stream_state {
  STREAM_NEW,
  STREAM_LISTENS,
  STREAM_CONNECTS,
  STREAM_CONNECTED, /* and the program does not know */
  STREAM_OPEN,
  STREAM_FAILED, /* to connect */
};

struct stream {
  enum stream_state state;
  int fd; /* one of the program's; -1: not accepted yet */
  unsigned users; /* its files, and calls under way */
  uint32_t peer;
  uint16_t port, peer_port, host_port; /* host_port: its own on the host */
  uint16_t to_host_port; /* connected: the other end's, until the host knows of the connection */
  bool bound;
  bool finished; /* the other end sends no more */
  bool has_finished; /* this one sends no more */
  bool is_awaited; /* the other end waits for a report of what has been read */
  int error;
  uint64_t window; /* of the program's own choice (SO_SNDBUF); 0: the machine's */
  uint64_t available; /* bytes that have come, and have not been read */
  uint64_t unread; /* bytes sent that the other end has not said to have read */
  uint64_t unreported; /* bytes read, and not reported */
  uint32_t sequence;
  struct mailbox *mailbox; /* of datagrams; then the state stays as it is. NULL: of a stream */
  uint64_t news; /* one more each time that something comes */
  struct stream *pending; /* a listener's connections that have come, the oldest first */
  struct stream *next_pending;
  struct stream *next;
};

/* -- kernel.c: the host's own calls, past all that a rank has in their place --------------------------------------- */
void *sockets_next(void **slot, const char *name); /* the next definition of a function */
ssize_t kernel_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t kernel_sendmsg(int fd, const struct msghdr *message, int flags);
int kernel_poll(struct pollfd *files, unsigned long n, int ms);
int kernel_flags(int fd); /* of the file: O_NONBLOCK */
int kernel_bind_anywhere(int fd); /* to a port of loopback; that, or -1 */
int kernel_connect(int fd, uint16_t host_port); /* 0 or an errno value */
int kernel_accept(int fd, int flags, uint16_t *host_port);
int kernel_close(int fd);

/* -- mailbox.c: of datagrams --------------------------------------------------------------------------------------- */
void mailbox_arrived(const struct exanet_stream_event *event);
void mailbox_free(struct exanet_ni *ni, struct stream *s);
short mailbox_ready(const struct stream *s);
bool mailboxes_serve(void);
void mailboxes_close(struct exanet_ni *ni);

/* -- streams.c ----------------------------------------------------------------------------------------------------- */
#define SOCKETS_FILES 65536
void streams_begin(void); /* virtual time, where the first socket begins it */
struct stream *stream_of(int fd); /* NULL: it is none of ours */
struct stream *stream_new(int fd);
void stream_add_file(struct stream *s, int fd);
void stream_drop_file(struct exanet_ni *ni, int fd); /* with the last one goes the stream */
void stream_hold(struct stream *s);
void stream_release(struct exanet_ni *ni, struct stream *s);
struct stream *stream_listening(uint16_t port);
struct stream *stream_take_pending(struct stream *listener);
void streams_settle(struct exanet_ni *ni); /* what has come between two calls */
bool streams_serve(void); /* somebody may connect */
void stream_send(struct exanet_ni *ni, struct stream *s, enum exanet_segment_kind kind, uint64_t length);
void stream_finish(struct exanet_ni *ni, struct stream *s);
uint64_t stream_space(const struct exanet_ni *ni, const struct stream *s);
short stream_ready(const struct exanet_ni *ni, const struct stream *s);

/* -- waits.c ------------------------------------------------------------------------------------------------------- */
#define FOR_EVER UINT64_MAX
uint64_t wait_limit(struct exanet_ni *ni, int fd, int option); /* the socket's own, SO_RCVTIMEO or SO_SNDTIMEO */
uint64_t wait_until_ms(struct exanet_ni *ni, int64_t ms); /* below 0: FOR_EVER */
void wait_take(struct exanet_ni *ni); /* what has come; does not wait */
void wait_look(struct exanet_ni *ni); /* a look that costs time */
/* What asks whether files are ready takes what has come, and costs a look if nothing has been done since it asked
   before: a loop that only asks gets on. */
void wait_ask(struct exanet_ni *ni);
void wait_done(void); /* bytes have been moved, a connection taken */
bool wait_more(struct exanet_ni *ni, uint64_t until_ps); /* false: the time has come */

/* -- ready.c ------------------------------------------------------------------------------------------------------- */
int ready_files(struct pollfd *files, nfds_t n, uint64_t timeout_ps);

/* -- epoll.c ------------------------------------------------------------------------------------------------------- */
void epoll_forget(int fd); /* a file that is closed; an epoll, too */
void epoll_give_back(int fd); /* a file that is none of ours any more */
#endif
