#include "core/lowering/draft.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

/// A send on one device and its receive on another, whose task allocates and releases a buffer.
struct TwoDevices {
  Draft draft;
  Ref send, receive;

  TwoDevices() {
    Buffer buffer;
    buffer.name = draft.name("message");
    buffer.bytes = Bytes{8};
    const BufferId held = draft.buffer(buffer);
    const TaskId task = draft.task({});
    draft.effect(task, held, true, false);
    draft.effect(task, held, false, true);
    send = draft.add(draft.stream(DeviceId{0}, "send", false), task, 0, {});
    Refs sent;
    sent.add(send);
    receive = draft.add(draft.stream(DeviceId{1}, "receive", false), task, 0, sent);
    draft.pair(send, receive);
  }
};

TEST(Draft, IsSoundWhenAllThatItRefersToIsThere) {
  TwoDevices two;
  EXPECT_EQ(two.draft.first_wrong(), "");
  two.draft.wait(two.send, two.receive);
  EXPECT_EQ(two.draft.first_wrong(), "");
}

TEST(Draft, NamesTheFirstThingThatIsNotThere) {
  TwoDevices two;
  two.draft.program.effects[1].buffer = BufferId{7};
  EXPECT_EQ(two.draft.first_wrong(), "effect 1 is of a buffer that is not there");

  two = {};
  two.draft.program.tasks[0].first_effect = 1;
  EXPECT_EQ(two.draft.first_wrong(), "task 0 has a name, work or effect that is not there");

  two = {};
  two.draft.program.buffers[0].parts = 1;
  EXPECT_EQ(two.draft.first_wrong(),
            "buffer 0 has no name, negative bytes or parts that are not there");

  two = {};
  two.draft.add(two.receive.stream, TaskId{3}, 0, {});
  EXPECT_EQ(two.draft.first_wrong(), "instruction 1 of \"receive\" on device 1 has no task");

  two = {};
  Refs ahead;
  ahead.add({two.send.stream, 5});
  two.draft.add(two.receive.stream, TaskId{0}, 1, ahead);
  EXPECT_EQ(two.draft.first_wrong(),
            "instruction 1 of \"receive\" on device 1 waits for one that is not there");

  two = {};
  two.draft.pair(two.send, two.draft.add(two.receive.stream, TaskId{0}, 1, {}));
  EXPECT_EQ(two.draft.first_wrong(),
            "instruction 0 of \"receive\" on device 1 is paired with one that is not paired with "
            "it");

  two = {};
  two.draft.wait(two.send, {two.receive.stream, 9});
  EXPECT_EQ(two.draft.first_wrong(), "a late wait is of an instruction that is not there");
}

}  // namespace
}  // namespace trainyard
