// One walk over the compute streams records, for each copy of a stage, which version each
// microbatch read, which update applied its gradient, and until when each version was needed. Time
// is counted in updates: at clock c a stage's newest version is c.
#include "core/program/facts.h"

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

constexpr int kUnknown = -1;

/// One microbatch on one copy of a stage.
struct StagePass {
  std::int32_t microbatch = 0;
  std::int16_t wave = 0;
  std::uint32_t stream = 0;
  int forward = kUnknown, backward = kUnknown;  // version read; of the oldest backward part
  int taken = kUnknown;              // version written by the update that applies its gradient
  std::uint32_t begin = 0, end = 0;  // its first and its last instruction
  std::uint32_t end_stream = 0;
};

struct Read {
  std::int16_t wave = 0;
  int version = 0, clock = 0;  // clock: the newest version that may exist by then
  bool late = false;           // whether it belongs to the last step of the program
};

struct WrittenWork {
  std::int16_t wave = 0;
  std::uint32_t stream = 0, at = 0;  // at: its first instruction
  std::int32_t index = 0;            // Instruction::microbatch, which is a step or an update
  int version = 0;
};

struct Copy {
  DeviceId device;
  std::vector<StagePass> passes;     // by stream, then begin
  std::vector<WrittenWork> updates;  // by stream, then place in it
  std::int64_t sent = 0;
  bool by_place = false;       // if no version is written, every update makes the next one
  bool private_waves = false;  // each wave holds its own weights
};

class FactReader {
 public:
  explicit FactReader(const Program& program)
      : p_(program), copies_of_(static_cast<std::size_t>(copies(program.placement))) {
    copies_.resize(static_cast<std::size_t>(std::max(0, p_.stages)) * copies_of_);
    for (std::size_t i = 0; i < copies_.size(); ++i)
      copies_[i].device =
          trainyard::device_of({static_cast<std::uint32_t>(i / copies_of_)}, p_.devices, p_.stages,
                               p_.placement, static_cast<int>(i % copies_of_));
    for (std::uint32_t s = 0; s < p_.streams.size(); ++s) {
      if (p_.streams[s].compute)
        read_work(s);
      else
        read_traffic(s);
    }
    for (Copy& copy : copies_) settle(copy);
  }

  std::vector<StageFacts> facts() {
    std::vector<StageFacts> all;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      StageFacts f;
      f.stage = {static_cast<std::uint32_t>(i / copies_of_)};
      f.device = copies_[i].device;
      add_delays(copies_[i], f);
      f.versions = versions(copies_[i]);
      f.live = live(copies_[i]);
      const auto count = static_cast<std::int64_t>(copies_[i].passes.size());
      f.sent = {count > 0 ? copies_[i].sent / count : 0};
      all.push_back(f);
    }
    return all;
  }

  std::vector<Staleness> staleness() {
    std::vector<Staleness> all;
    for (std::size_t i = 0; i < copies_.size(); ++i)
      for (const StagePass& pass : copies_[i].passes)
        if (pass.taken != kUnknown && pass.forward != kUnknown)
          all.push_back({{static_cast<std::uint32_t>(i / copies_of_)},
                         pass.microbatch,
                         pass.taken - 1 - pass.forward,
                         pass.backward == kUnknown || pass.backward == pass.forward});
    std::sort(all.begin(), all.end(), [](const Staleness& a, const Staleness& b) {
      return a.stage != b.stage ? a.stage < b.stage : a.microbatch < b.microbatch;
    });
    return all;
  }

 private:
  std::size_t copy_of(StageId stage, DeviceId device, std::int16_t wave) const {
    std::size_t copy = 0;
    if (copies_of_ == 2) {
      // With an odd number of devices both copies share the middle one, and the wave distinguishes
      // them.
      const auto home = [&](int c) {
        return trainyard::device_of(stage, p_.devices, p_.stages, p_.placement, c);
      };
      copy = home(0) == home(1) ? static_cast<std::size_t>(wave & 1) : device != home(0) ? 1u : 0u;
    }
    return stage.value * copies_of_ + copy;
  }

  void read_work(std::uint32_t s) {
    const Stream& stream = p_.streams[s];
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Instruction& in = p_.instructions[i];
      const Task& task = p_.task(in);
      if (task.kind != TaskKind::Compute) continue;
      Copy& copy = copies_[copy_of(task.stage, stream.device, in.wave)];
      if (task.phase == Phase::Update)
        note_update(copy, s, i, in);
      else
        note_read(copy, s, i, in, task.phase);
    }
  }

  // At op grain an update is many instructions.
  static void note_update(Copy& copy, std::uint32_t s, std::uint32_t i, const Instruction& in) {
    if (!copy.updates.empty() && copy.updates.back().stream == s &&
        copy.updates.back().index == in.microbatch)
      return;
    copy.updates.push_back({in.wave, s, i, in.microbatch, in.weights});
  }

  void note_read(Copy& copy, std::uint32_t s, std::uint32_t i, const Instruction& in, Phase phase) {
    const std::size_t at = find_or_add(copy, s, i, in);
    StagePass& pass = copy.passes[at];
    pass.end = i, pass.end_stream = s;
    int& version = phase == Phase::Forward ? pass.forward : pass.backward;
    if (version == kUnknown || in.weights < version) version = in.weights;
  }

  // A pass is added at its forward and found again at its backward, by microbatch.
  std::size_t find_or_add(Copy& copy, std::uint32_t s, std::uint32_t i, const Instruction& in) {
    if (index_.empty()) index_.resize(copies_.size());
    std::vector<std::uint32_t>& index = index_[static_cast<std::size_t>(&copy - copies_.data())];
    const auto key = static_cast<std::size_t>(std::max(0, in.microbatch));
    if (key >= index.size())
      index.resize(std::max(key + 1, index.size() * 2), std::numeric_limits<std::uint32_t>::max());
    if (index[key] == std::numeric_limits<std::uint32_t>::max()) {
      index[key] = static_cast<std::uint32_t>(copy.passes.size());
      copy.passes.push_back({in.microbatch, in.wave, s, kUnknown, kUnknown, kUnknown, i, i, s});
    }
    return index[key];
  }

  void read_traffic(std::uint32_t s) {
    const Stream& stream = p_.streams[s];
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Instruction& in = p_.instructions[i];
      const Task& task = p_.task(in);
      if (task.kind == TaskKind::Send && task.group == Group::Pipeline)
        copies_[copy_of(task.stage, stream.device, in.wave)].sent += task.bytes.value;
    }
  }

  std::int32_t step_of(const StagePass& pass) const {
    return p_.microbatches > 0 ? pass.microbatch / p_.microbatches : 0;
  }
  bool late(const StagePass& pass) const { return step_of(pass) + 1 >= p_.steps; }

  /// The updates of a copy in one stream: a half-open range of indices into copy.updates, which are
  /// ordered by stream.
  static std::pair<std::size_t, std::size_t> of_stream(const Copy& copy, std::uint32_t s) {
    const auto begin = copy.updates.begin(), end = copy.updates.end();
    const auto first = std::lower_bound(
        begin, end, s,
        [](const WrittenWork& w, std::uint32_t stream) { return w.stream < stream; });
    const auto last = std::upper_bound(
        first, end, s,
        [](std::uint32_t stream, const WrittenWork& w) { return stream < w.stream; });
    return {static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - begin)};
  }

  /// The first update of the range after an instruction; `last` if there is none.
  static std::size_t next_update(const Copy& copy, std::pair<std::size_t, std::size_t> range,
                                 std::uint32_t instruction) {
    const auto begin = copy.updates.begin();
    const auto at =
        std::upper_bound(begin + static_cast<std::ptrdiff_t>(range.first),
                         begin + static_cast<std::ptrdiff_t>(range.second), instruction,
                         [](std::uint32_t i, const WrittenWork& w) { return i < w.at; });
    return static_cast<std::size_t>(at - begin);
  }

  // Determines which update applies each gradient and, if no versions are written, which version
  // was read.
  void settle(Copy& copy) {
    copy.by_place =
        !copy.updates.empty() && std::all_of(copy.updates.begin(), copy.updates.end(),
                                             [](const WrittenWork& w) { return w.version == 0; });
    if (copy.by_place) {
      std::uint32_t stream = 0;
      int version = 0;
      for (WrittenWork& w : copy.updates) {
        if (w.stream != stream) version = 0;
        stream = w.stream;
        w.version = ++version;
      }
    }
    copy.private_waves = written_by_two_waves(copy.updates);
    for (StagePass& pass : copy.passes) {
      const auto range = of_stream(copy, pass.end_stream);
      if (range.first == range.second) {
        // Its lane leaves updates to another lane, at the end of each step.
        for (const WrittenWork& w : copy.updates)
          if (w.index == step_of(pass)) pass.taken = w.version;
        if (copy.by_place) pass.forward = pass.backward = step_of(pass);
        continue;
      }
      const std::size_t taken = next_update(copy, range, pass.end);
      if (taken < range.second) pass.taken = copy.updates[taken].version;
      if (copy.by_place) {
        pass.forward = static_cast<int>(next_update(copy, range, pass.begin) - range.first);
        pass.backward = static_cast<int>(taken - range.first);
      }
    }
  }

  static bool written_by_two_waves(const std::vector<WrittenWork>& updates) {
    std::vector<std::pair<int, std::int16_t>> seen;
    for (const WrittenWork& w : updates) seen.push_back({w.version, w.wave});
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 1; i < seen.size(); ++i)
      if (seen[i].first == seen[i - 1].first && seen[i].second != seen[i - 1].second) return true;
    return false;
  }

  void add_delays(const Copy& copy, StageFacts& f) const {
    std::int64_t sum = 0, count = 0;
    for (const StagePass& pass : copy.passes) {
      if (!late(pass) || pass.forward == kUnknown) continue;
      if (pass.backward != kUnknown && pass.backward != pass.forward) f.consistent = false;
      if (pass.taken == kUnknown) continue;
      f.forward_delay = std::max(f.forward_delay, pass.taken - 1 - pass.forward);
      if (pass.backward != kUnknown)
        f.backward_delay = std::max(f.backward_delay, pass.taken - 1 - pass.backward);
      sum += pass.taken - 1 - pass.forward, ++count;
    }
    if (count > 0) f.mean_delay_thousandths = static_cast<int>(sum * 1000 / count);
  }

  int versions(const Copy& copy) const {
    std::vector<Read> reads;
    for (const StagePass& pass : copy.passes) {
      const auto range = of_stream(copy, pass.end_stream);
      const auto read = [&](int version, std::uint32_t at) {
        if (version == kUnknown) return;
        // Updates of other lanes may come in between, but none that follows this lane's next one.
        const std::size_t next = next_update(copy, range, at);
        const int clock = next < range.second      ? copy.updates[next].version - 1
                          : pass.taken != kUnknown ? pass.taken - 1
                                                   : newest(copy, pass);
        reads.push_back({pass.wave, version, clock, late(pass)});
      };
      read(pass.forward, pass.begin);
      read(pass.backward, pass.end);
    }
    if (!copy.private_waves) return versions(reads);
    int sum = 0;
    std::sort(reads.begin(), reads.end(),
              [](const Read& a, const Read& b) { return a.wave < b.wave; });
    for (std::size_t first = 0, last = 0; first < reads.size(); first = last) {
      while (last < reads.size() && reads[last].wave == reads[first].wave) ++last;
      sum += versions({reads.begin() + static_cast<std::ptrdiff_t>(first),
                       reads.begin() + static_cast<std::ptrdiff_t>(last)});
    }
    return sum;
  }

  /// Version v is needed from clock v until its last reader's clock, and while it is the newest.
  int versions(const std::vector<Read>& reads) const {
    int top = 0, from = std::numeric_limits<int>::max();
    for (const Read& r : reads) {
      top = std::max({top, r.version, r.clock});
      if (r.late) from = std::min(from, r.clock);
    }
    std::vector<int> until(static_cast<std::size_t>(top) + 1);
    for (int v = 0; v <= top; ++v) until[static_cast<std::size_t>(v)] = v;
    for (const Read& r : reads) {
      int& last = until[static_cast<std::size_t>(r.version)];
      last = std::max(last, r.clock);
    }
    std::vector<int> change(static_cast<std::size_t>(top) + 2, 0);
    for (int v = 0; v <= top; ++v) {
      ++change[static_cast<std::size_t>(v)];
      --change[static_cast<std::size_t>(until[static_cast<std::size_t>(v)]) + 1];
    }
    int most = 1, alive = 0;
    for (int c = 0; c <= top; ++c) {
      alive += change[static_cast<std::size_t>(c)];
      if (c >= from) most = std::max(most, alive);
    }
    return most;
  }

  /// The last version written for a pass; only by its wave if waves hold their own weights.
  static int newest(const Copy& copy, const StagePass& pass) {
    int version = 0;
    for (const WrittenWork& w : copy.updates)
      if (!copy.private_waves || w.wave == pass.wave) version = std::max(version, w.version);
    return std::max({version, pass.forward, pass.backward});
  }

  // Lanes of one device are not ordered with respect to each other, so their maxima may coincide
  // and are added.
  int live(const Copy& copy) const {
    int sum = 0;
    for (std::size_t first = 0, last = 0; first < copy.passes.size(); first = last) {
      std::vector<std::uint32_t> ends;
      while (last < copy.passes.size() && copy.passes[last].stream == copy.passes[first].stream)
        ends.push_back(copy.passes[last++].end);
      std::sort(ends.begin(), ends.end());
      int most = 0;
      std::size_t ended = 0;
      for (std::size_t i = first; i < last; ++i) {
        while (ended < ends.size() && ends[ended] < copy.passes[i].begin) ++ended;
        if (late(copy.passes[i]))
          most = std::max(most, static_cast<int>(i - first + 1) - static_cast<int>(ended));
      }
      sum += most;
    }
    return sum;
  }

  const Program& p_;
  std::size_t copies_of_;
  std::vector<Copy> copies_;                       // by stage, then copy
  std::vector<std::vector<std::uint32_t>> index_;  // of a copy, by microbatch: its pass
};

}  // namespace

std::vector<StageFacts> facts(const Program& program) { return FactReader(program).facts(); }

std::vector<Staleness> staleness(const Program& program) { return FactReader(program).staleness(); }

}  // namespace trainyard
