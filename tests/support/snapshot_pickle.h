// Makes a memory snapshot in the pickle format of torch.cuda.memory._dump_snapshot() from the
// memory that a program is predicted to hold: what would be recorded if it ran that way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/memory/memory_stream.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Writes pickle protocol 4 as Python's own pickler does.
class PickleWriter {
 public:
  PickleWriter() { out_ = "\x80\x04"; }
  void none() { out_ += 'N'; }
  void integer(std::int64_t value) {
    if (value >= 0 && value < 256) return byte('K'), byte(static_cast<int>(value));
    if (value >= -2147483648LL && value <= 2147483647LL) return byte('J'), plain(value, 4);
    byte(0x8A), byte(9), plain(value, 8), byte(0);
  }
  void text(std::string_view words) {
    if (const auto found = memo_.find(words); found != memo_.end()) return get(found->second);
    byte(0x8C), byte(static_cast<int>(words.size()));
    out_ += words;
    memo_.emplace(std::string(words), remember());
  }
  void begin_dict() { byte('}'), remember(), byte('('); }
  void end_dict() { byte('u'); }
  void begin_list() { byte(']'), remember(), byte('('); }
  void end_list() { byte('e'); }
  void empty_list() { byte(']'), remember(); }
  /// Continues a list in another batch, as Python does after a thousand items.
  void next_batch() { byte('e'), byte('('); }
  std::uint32_t last() const { return next_ - 1; }
  void get(std::uint32_t at) {
    if (at < 256) return byte('h'), byte(static_cast<int>(at));
    byte('j'), plain(at, 4);
  }
  std::string done() && { return std::move(out_) + '.'; }
  std::size_t size() const { return out_.size(); }

 private:
  void byte(int b) { out_ += static_cast<char>(b); }
  void plain(std::int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) byte(static_cast<int>(value >> (8 * i) & 0xFF));
  }
  std::uint32_t remember() {
    byte(0x94);
    return next_++;
  }
  std::string out_;
  std::map<std::string, std::uint32_t, std::less<>> memo_;
  std::uint32_t next_ = 0;
};

struct SnapshotFault {
  double lost = 0;  // share of reserved memory that is in no block
  double leak = 0;  // share of the peak that is kept after each step
  int steps = 1;
  double noise = 0.01;  // relative noise of each allocation's size
  std::uint64_t seed = 1;
  int pieces = 4;  // in which a buffer is allocated
};

class SnapshotMaker {
 public:
  explicit SnapshotMaker(const SnapshotFault& fault) : fault_(fault), random_(fault.seed) {
    w_.begin_dict();
    w_.text("device_traces");
    w_.begin_list();
    w_.begin_list();
  }

  void allocate(std::uint32_t key, std::int32_t microbatch, std::int64_t bytes, Category category) {
    std::vector<Piece>& held = held_[{key, microbatch}];
    for (int i = 0; i < fault_.pieces; ++i) {
      const double wrong = fault_.noise * (random_.uniform(drawn_++) - 0.5);
      const auto size =
          static_cast<std::int64_t>(static_cast<double>(bytes / fault_.pieces) * (1 + wrong)) /
          512 * 512;
      if (size <= 0) continue;
      held.push_back({next_, size});
      event("alloc", next_, size, category);
      next_ += size;
      now_ += size;
      while (now_ > usable_) {
        const std::int64_t segment = std::max<std::int64_t>(20 << 20, now_ - usable_);
        usable_ += segment;
        event("segment_alloc", 0x7e0000000000 + usable_,
              static_cast<std::int64_t>(static_cast<double>(segment) / (1 - fault_.lost)),
              category);
      }
    }
  }
  void release(std::uint32_t key, std::int32_t microbatch) {
    auto found = held_.find({key, microbatch});
    if (found == held_.end()) found = held_.lower_bound({key, -1});
    if (found == held_.end() || found->first.first != key) return;
    for (const Piece& piece : found->second) {
      event("free_requested", piece.at, piece.size, Category::Workspace);
      event("free_completed", piece.at, piece.size, Category::Workspace);
      now_ -= piece.size;
    }
    held_.erase(found);
  }
  std::size_t size() const { return w_.size(); }

  std::string done() && {
    w_.end_list(), w_.end_list();
    w_.text("segments");
    w_.begin_list();
    w_.begin_dict();
    pair("device", 0), pair("address", 0x7f0000000000);
    pair("total_size", static_cast<std::int64_t>(static_cast<double>(usable_) / (1 - fault_.lost)));
    pair("allocated_size", now_);
    w_.text("segment_type"), w_.text("large");
    w_.text("blocks");
    w_.begin_list();
    w_.begin_dict();
    pair("size", 1 << 20);
    w_.text("state"), w_.text("inactive");
    w_.end_dict();
    w_.end_list();
    w_.end_dict();
    w_.end_list();
    w_.end_dict();
    return std::move(w_).done();
  }

 private:
  struct Piece {
    std::int64_t at, size;
  };

  void pair(std::string_view key, std::int64_t value) { w_.text(key), w_.integer(value); }

  void frame(std::string_view name, std::string_view file, int line) {
    w_.begin_dict();
    w_.text("filename"), w_.text(file);
    pair("line", line);
    w_.text("name"), w_.text(name);
    w_.end_dict();
  }

  void frames(Category category) {
    switch (category) {
      case Category::Weights:
        return frame("__init__", "/work/train/model.py", 40);
      case Category::Gradients:
        return frame("torch::autograd::AccumulateGrad::apply", "accumulate_grad.cpp", 0),
               frame("backward", "/usr/lib/torch/_tensor.py", 500);
      case Category::OptimizerState:
        return frame("_init_group", "/usr/lib/torch/optim/adamw.py", 150);
      case Category::Activations:
        return frame("attention", "/work/train/model.py", 120),
               frame("forward", "/usr/lib/torch/nn/modules/module.py", 1500);
      case Category::Recomputed:
        return frame("forward", "/work/train/model.py", 100),
               frame("unpack", "/usr/lib/torch/utils/checkpoint.py", 300),
               frame("backward", "/usr/lib/torch/_tensor.py", 500);
      case Category::Communication:
        return frame("all_gather_into_tensor", "/usr/lib/torch/distributed/c10d.py", 9);
      default:
        return frame("backward", "/usr/lib/torch/_tensor.py", 500);
    }
  }

  void event(std::string_view action, std::int64_t at, std::int64_t size, Category category) {
    if (++events_ % 1000 == 0) w_.next_batch();
    w_.begin_dict();
    w_.text("action"), w_.text(action);
    pair("addr", at), pair("size", size), pair("stream", 0);
    w_.text("time_us"), w_.integer(1'700'000'000'000'000 + 10 * events_);
    w_.text("frames");
    w_.begin_list();
    frames(category);
    w_.end_list();
    w_.end_dict();
  }

  SnapshotFault fault_;
  Random random_;
  PickleWriter w_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::vector<Piece>> held_;
  std::int64_t next_ = 0x7f0000000000, now_ = 0, usable_ = 0, events_ = 0;
  std::uint64_t drawn_ = 0;
};

inline std::string snapshot_pickle(const Experiment& e, DeviceId device,
                                   const SnapshotFault& fault = {}) {
  SnapshotMaker maker(fault);
  const Program& p = e.program;
  std::int64_t peak = 0;
  for (const MemoryWave::Sample& s : e.waves[device.value].samples)
    peak = std::max(peak, total(s.bytes).value);
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    if (const Buffer& buffer = p.buffers[b];
        buffer.persistent && buffer.device == device && buffer.category != Category::Framework)
      maker.allocate(b, -1, buffer.bytes.value, buffer.category);
  for (int step = 0; step < fault.steps; ++step) {
    for (const BufferEvent& event : memory_stream(p, e.timeline, device)) {
      const Buffer& buffer = p.buffers[event.buffer];
      if (buffer.persistent || buffer.category == Category::Framework) continue;
      if (event.allocate)
        maker.allocate(event.buffer, event.microbatch, buffer.bytes.value, buffer.category);
      else
        maker.release(event.buffer, event.microbatch);
    }
    if (fault.leak > 0)
      maker.allocate(1'000'000, step,
                     static_cast<std::int64_t>(fault.leak * static_cast<double>(peak)),
                     Category::Activations);
  }
  return std::move(maker).done();
}

}  // namespace trainyard
