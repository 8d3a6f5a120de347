// Transfers carry activations and gradients between stages on different devices. Everything that
// one lane sends to one device in one direction uses one link, whose two ends process messages in
// the order in which the lane makes them. Therefore no two links can deadlock, whatever the order.
#pragma once

#include <vector>

#include "core/lowering/boundaries.h"
#include "core/lowering/draft.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

class Transfers {
 public:
  Transfers(const Workload&, const StageCopies&, const Boundaries&, const Order&, Draft&,
            std::int32_t microbatches);

  /// Adds the streams of the links that begin or end at the device.
  void add_streams(DeviceId);
  /// Posts all messages of one pass through the order, with microbatches counted from `first`.
  void post(std::int32_t first);

  /// The receive for which a forward (or backward) of that stage and microbatch waits; invalid if
  /// its input is on its own device.
  Ref received(Phase, StageId, std::int32_t microbatch) const;
  /// The send of the action's message, which may leave after these; invalid if there is no message.
  Ref send_after(Phase, StageId, std::int32_t microbatch, const Refs& done);

 private:
  struct Link {
    std::uint32_t lane;
    DeviceId from, to;
    bool forward;
    std::uint32_t send = 0, receive = 0;  // streams
  };
  struct Message {
    Ref send, receive;
  };

  void find_links();
  void make_tasks(const Boundaries&);
  /// Index into links_ of the link on which the action sends; kNowhere if nothing leaves its
  /// device.
  std::size_t& link_of(std::uint32_t lane, const Action& a) {
    return link_of_[(lane * stages_ + a.stage.value) * 2 + (a.phase == Phase::Forward ? 0 : 1)];
  }
  DeviceId destination(DeviceId from, const Action&) const;
  std::size_t cell(StageId stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages_ + stage.value;
  }

  const Workload& w_;
  const StageCopies& places_;
  const Order& order_;
  Draft& draft_;
  std::size_t stages_;
  std::uint32_t forward_only_;  // first stages to which no gradient is sent
  std::vector<Link> links_;
  std::vector<std::size_t> link_of_;  // by lane, stage and direction
  struct Tasks {
    TaskId send_forward, receive_forward, send_backward, receive_backward;
  };
  std::vector<Tasks> tasks_;                 // by place
  std::vector<Message> forward_, backward_;  // by cell of the sender
};

}  // namespace trainyard
