// SPDX-License-Identifier: Apache-2.0
// Activities that a rank has begun and not yet completed: a message, or a collective, which is messages in stages. An
// activity's number is the cookie of its messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/collectives/schedule.hpp"
#include "core/replay/library.hpp"

namespace exanet {

// Messages carry these in their tags: a collective's number in the place of a tag, and the acknowledgement of a
// synchronous send.
inline constexpr std::uint64_t kCollectiveTag = std::uint64_t{1} << 62, kAcknowledgementTag = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kActiveMessage = 0xfffffffe;  // cookie of those that come
inline constexpr std::uint64_t kNotice = 0xfffffffd;  // cookie of notices that come, and that go
inline constexpr std::uint64_t kNoticeTag = std::uint64_t{1} << 61;  // of those, in the place of a communicator's
inline constexpr std::uint64_t kProbe = 0xffffffff;  // cookie of a probe, in the place of an activity
inline constexpr std::uint64_t kFetched = std::uint64_t{1} << 63;  // cookie of what is fetched for one, with its data
inline constexpr std::uint64_t kSynchronous = std::uint64_t{1}
                                              << 63;  // in a message's data: acknowledge it under the number beside it

class Activities {
 public:
  // `rank` is the library's number, and `first` that of the program's rank 0: ranks below are the program's own.
  Activities(Library& library, RankId rank, RankId first) : library_(library), rank_(rank), first_(first) {}

  // Each returns the new activity. `address`: of the message's contents, if it has any; `space`: where they go.
  std::uint32_t send(RankId to, std::uint64_t tag, std::uint64_t bytes, bool synchronous, std::uint64_t address = 0);
  std::uint32_t receive(RankId from, std::uint64_t tag, std::uint64_t ignore, Library::Space space);
  std::uint32_t receive(RankId from, std::uint64_t tag, std::uint64_t ignore) {
    return receive(from, tag, ignore, Library::Space{});
  }
  // What the receive has taken, once it is complete.
  struct Received {
    RankId from = kAnyRank;  // of nothing
    std::uint64_t tag = 0, bytes = 0, space = 0;
    bool truncated = false, cancelled = false;
    std::uint32_t failed = 0;  // number of its failure on the network (Library::failed()), of any activity
  };
  const Received& received(std::uint32_t activity) const { return all_[activity].received; }
  // Asks for a message that no receive has taken; take_answer() says whether there is one.
  void probe(RankId from, std::uint64_t tag, std::uint64_t ignore);
  // The same, and the message that there is can be had by take() alone, as this activity: it is nothing until then.
  std::uint32_t claim(RankId from, std::uint64_t tag, std::uint64_t ignore);
  void take(std::uint32_t activity, Library::Space space);
  std::uint32_t nothing();  // complete as it is
  // Of contents, if there are any: where they are here, and there.
  std::uint32_t put(RankId to, std::uint64_t bytes, std::uint64_t address, std::uint64_t remote);
  std::uint32_t get(RankId from, std::uint64_t bytes, std::uint64_t address, std::uint64_t remote);
  // Sends an active message as a part of an activity, which takes so many calls of answered() more to be complete.
  void send_active(std::uint32_t activity, RankId to, std::uint64_t bytes, std::uint64_t data, std::uint32_t answers);
  // Fetches what an active message leaves to be fetched: then its handler is called again.
  void fetch_active(RankId from, std::uint64_t bytes, std::uint64_t data);
  // One call of answered() more.
  void expect(std::uint32_t activity) { ++all_[activity].outstanding; }
  void answered(std::uint32_t activity) { completed(activity); }
  // Active messages that come are handed to it; until then there are none.
  void on_active(std::function<void(RankId from, std::uint64_t data)> handler);
  // Takes notices, which no receive of the program's matches, and sends one.
  void on_notice(std::function<void(std::uint64_t data)> handler);
  void send_notice(RankId to, std::uint64_t bytes, std::uint64_t data);
  // `names`: world ranks by the schedule's; nullptr: the same. `before_stage`: what the rank computes before it posts
  // each one.
  std::uint32_t collective(std::unique_ptr<Schedule> schedule, const std::vector<std::uint64_t>* names,
                           std::uint64_t tag, Time before_stage);
  // What collective() costs the rank at once, where nothing is computed before the stages.
  Time cost(const Schedule& schedule) const;

  // Nothing more of a collective begins; done() when what it has begun is complete.
  void abandon(std::uint32_t activity);

  bool done(std::uint32_t activity) const { return all_[activity].outstanding == 0 && !all_[activity].schedule; }
  void cancel(std::uint32_t activity);
  // take_ended() gives its number when it is complete, which it is not yet.
  void watch(std::uint32_t activity) { all_[activity].watched = true; }
  // Those that were watched and are complete since the last call, in their order, in the place of what `to` held.
  void take_ended(std::vector<std::uint32_t>& to) {
    to.clear();
    to.swap(ended_);
  }
  // One more asks for it, and will release it.
  void share(std::uint32_t activity) { ++all_[activity].shared; }
  // Nobody asks for it any more: it goes when it is complete.
  void release(std::uint32_t activity);

  // Takes what has arrived by the rank's clock, and goes on with what it completes. False where nothing had.
  bool progress();
  // Answer of the last probe, once; sent: nothing yet.
  struct Answer {
    Arrival::Kind kind = Arrival::Kind::sent;
    Received message{};
  };
  Answer take_answer() { return std::exchange(answer_, Answer{}); }
  // A schedule that is no longer needed, for reuse.
  std::unique_ptr<Schedule> empty_schedule();

 private:
  struct Activity {
    std::uint32_t outstanding = 0;
    bool released = false, in_use = false, watched = false, one_sided = false;
    std::uint8_t shared = 0;
    std::unique_ptr<Schedule> schedule;  // of what is left
    std::uint32_t next = 0;  // of its messages
    const std::vector<std::uint64_t>* names = nullptr;
    std::uint64_t tag = 0;
    Time before_stage;
    Received received;
  };
  struct Own {  // a message to the rank itself that waits for its receive, or the other way round
    std::uint64_t tag, ignore;
    std::uint32_t activity;
    Library::Space contents;
  };

  std::uint32_t allocate();
  void completed(std::uint32_t activity);
  void post_stage(std::uint32_t activity);
  void arrived(const Arrival& arrival);
  void notice(const Arrival& arrival);
  std::vector<Own>::iterator find_own(std::vector<Own>& waiting, std::uint64_t tag, std::uint64_t ignore);
  bool match_own(std::vector<Own>& waiting, const Own& own);
  bool answer_own(RankId from, std::uint64_t tag, std::uint64_t ignore, std::optional<std::uint32_t> claims);
  void take_own(const Own& sent, const Own& received);

  Library& library_;
  const RankId rank_, first_;
  std::vector<Activity> all_;
  std::vector<std::uint32_t> free_, advanced_, ended_;
  Answer answer_;
  std::function<void(RankId, std::uint64_t)> on_active_;
  std::function<void(std::uint64_t)> on_notice_;
  std::vector<Own> own_sends_, own_receives_;
  std::vector<std::pair<std::uint32_t, Own>> own_claimed_;  // by the activity that takes it
  std::vector<std::unique_ptr<Schedule>> schedules_;  // empty ones
};

}  // namespace exanet
