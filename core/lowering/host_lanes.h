// HostLanes write the traffic between a device and its host: activations that wait there for their
// backward, gradients that go down, the host's update and the weights that come up
// (core/methods/memory/offload.cpp has the rules). Each device has a lane down, a lane up and a
// lane for the host's own work, and lanes for what the host reads from NVMe and writes there.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "core/lowering/draft.h"
#include "core/lowering/layer_copies.h"
#include "core/lowering/stage_copies.h"
#include "core/methods/memory/offload.h"
#include "core/program/offloaded.h"

namespace trainyard {

class HostLanes {
 public:
  HostLanes(const Workload&, const StageCopies&, const Order&, Grain, Draft&);

  void add_streams(DeviceId);
  /// Null unless activations leave layer by layer.
  LayerCopies* layers() const { return layers_.get(); }
  /// Returns whether activations leave by whole stages; only then may the calls about actions be
  /// made.
  bool moves_stages() const { return !moves_.empty(); }
  StageId stage(std::size_t place) const { return places_[place].stage; }

  /// Returns whether the output of this action of the lane (or, for a backward, its input) goes to
  /// the host.
  bool moves(std::size_t lane, std::size_t action) const {
    return moves_stages() && moves_[lane][action];
  }
  /// Call once per place, with what moves, before any action is written.
  void make_copies(std::size_t place, const std::vector<BufferId>& kept);
  /// What an action that moves waits for: a forward waits for the copy that frees its memory, a
  /// backward for the copy that this call writes.
  Ref before(std::size_t lane, std::size_t place, const Action&);
  /// The lane's next action starts after these; the next copy up waits for nothing later.
  void begins(std::size_t lane, Phase, const Refs& start);
  /// Writes the copy down of what a forward kept, which nothing reads on the device after `gone`.
  void take(std::size_t lane, std::size_t place, const Action&, const Refs& gone);

  /// Writes the copy of the gradients of a part of the place. At order grain, part 0 is all layers
  /// except the one that is ready last, and part 1 is that layer; at op grain, the part is the
  /// index of a layer in the stage.
  void send_gradients(std::size_t place, std::size_t part, std::int32_t microbatch,
                      const Refs& after);
  /// Writes the update after all gradients have arrived and after `after`; returns the copy that
  /// brings the last weights. Invalid if the place has no parameters. At op grain the host updates
  /// layer by layer, and each layer's weights go up once they are new; at order grain the first
  /// layer's update is apart, beside whose successors the weights of all but the last layer go up.
  /// Where NVMe has the state, both grains read, update and write layer by layer.
  Ref update(std::size_t place, std::int32_t step, const Refs& after, std::int16_t version);

 private:
  struct Streams {
    std::uint32_t down = 0, up = 0, host = 0, read = 0, write = 0;
  };
  struct Place {
    TaskId down, up;  // for activations
    std::vector<TaskId> gradients;
    std::vector<TaskId> updates, weights;  // in the order in which the host works
    std::vector<TaskId> reads, writes;     // by update, where NVMe has the state; else empty
    std::size_t first_layer = 0;           // of the device's, among those with state on NVMe
    Refs sent;                             // the newest copy of gradients
  };
  /// The copies in progress of one lane.
  struct Moving {
    std::array<Ref, kHostBuffers> down{};  // the newest ones, in turn
    std::size_t count = 0;
    Refs window;  // the next copy up may begin after these
    bool backward = false;
    std::map<std::pair<std::uint32_t, std::int32_t>, Ref> there;  // by stage and microbatch
  };

  TaskId task(std::size_t place, TaskKind, Phase, std::string_view name, Bytes, int layer = -1);
  void make_update(std::size_t place);
  void make_layer_updates(std::size_t place, Grain);
  const Streams& streams(std::size_t place) const { return streams_[places_[place].device.value]; }

  const Workload& w_;
  const StageCopies& places_;
  Draft& draft_;
  std::vector<Streams> streams_;  // by device
  // Holds by device and buffer the instructions that must end before the buffer is filled again.
  std::vector<std::array<Refs, kStateBuffers>> buffers_;
  std::vector<std::size_t> layers_on_nvme_;  // by device
  std::vector<Place> list_;                  // by place
  std::vector<std::vector<bool>> moves_;
  std::vector<Moving> moving_;  // by lane
  std::unique_ptr<LayerCopies> layers_;
};

}  // namespace trainyard
