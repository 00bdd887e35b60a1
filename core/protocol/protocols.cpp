// SPDX-License-Identifier: Apache-2.0
// The list of protocols. A new one is a file with its state machine, and its line here; what should see a descriptor
// before another machine of the same kind stands above that.
#include "core/protocol/state_machine.hpp"

namespace exanet {

#define EXANET_PROTOCOLS(X)                                              \
  X(local) /* what stays at its own rank: endpoints, memory, receives */ \
  X(multicast) /* messages to groups of ranks */                         \
  X(handled) /* messages whose packets handlers take */                  \
  X(eager) /* short messages */                                          \
  X(rendezvous) /* all others */                                         \
  X(packet) /* bare packets */                                           \
  X(put)                                                                 \
  X(get)                                                                 \
  X(atomic)                                                              \
  X(reduction) /* in the interfaces */                                   \
  X(reduction_open)                                                      \
  X(reduction_close)                                                     \
  X(listen) /* of streams */                                             \
  X(connect)                                                             \
  X(segment)                                                             \
  X(datagram)

#define EXANET_DECLARE(name) std::unique_ptr<StateMachine> make_##name(Context& context);
EXANET_PROTOCOLS(EXANET_DECLARE)

std::vector<std::unique_ptr<StateMachine>> make_protocols(Context& context) {
  std::vector<std::unique_ptr<StateMachine>> machines;
#define EXANET_MAKE(name) machines.push_back(make_##name(context));
  EXANET_PROTOCOLS(EXANET_MAKE)
  return machines;
}

}  // namespace exanet
