// A FlipGuard flips bits of a run as its training asks, looks for flipped ones, and counts both. It
// knows tensors by numbers that are alike under every plan, and no devices. Each process of a run
// has one, of the devices that are its own; they tell each other what they know in settle(), after
// which all have counted the same.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/execution/numbers/flip_sight.h"
#include "core/rules/look.h"
#include "core/training/training.h"

namespace trainyard {

class Processes;

/// A tensor, of one microbatch where it has some: its bits are flipped and looked at together.
/// Where ranks divide what a microbatch makes, each rank's part is a tensor of its own.
struct FlipKey {
  FlipClass of = FlipClass::Weights;
  std::uint64_t tensor = 0;
  std::int64_t microbatch = 0;
  std::int64_t part = 0;
  friend auto operator<=>(const FlipKey&, const FlipKey&) = default;
};

class FlipGuard {
 public:
  /// The training must outlive it.
  explicit FlipGuard(const Training& training) : training_(training) {}

  const BitFlips& settings() const { return training_.flips; }
  /// Returns whether bits of that class flip in this step.
  bool flips(FlipClass) const;
  bool looks() const { return settings().checksums || settings().ranges; }

  /// Begins a step, the first being 0; it may have been begun before.
  void begin_step(std::int64_t step);
  /// Returns which bits of a tensor flip in this step, without those that the memory corrects. The
  /// next settle() counts them. May be called by several threads at once.
  const std::vector<BitFlip>& flipped(const FlipKey&, std::int64_t elements, DType,
                                      const std::string& name);
  /// Says what is seen of a tensor or of a part of it, and of the same one before bits flipped.
  /// Alarms for it are raised by the next settle(). May be called by several threads at once;
  /// `name` is for sentences.
  void look(const FlipKey&, const FlipSight& before, const FlipSight& now, const std::string& name);
  /// Flips bits of a tensor whose numbers lie side by side, and looks at it as it was and as it is
  /// then.
  void store(const FlipKey&, std::byte* numbers, DType, std::int64_t elements,
             const std::string& name);
  /// Counts what has flipped and been seen since it was called before, in the order of the tensors.
  /// All processes call it, where there are several, and no other thread meanwhile.
  void settle(Processes*);
  /// Shows the step that has ended and is settled to the rule that finds numbers that are not
  /// finite. Where it fires, all flips of the step are detected.
  void see(const Look&, const std::vector<double>& losses);
  /// Returns whether anything has found flipped bits in this step.
  bool alarmed() const { return alarmed_; }
  /// Ends the step, once. Returns alarmed().
  bool end_step();

  /// Flips bits of the `number`th state that is saved after so many updates.
  void store_checkpoint(std::int64_t step, std::string& bytes, std::int64_t number);
  /// Says that a saved state turned out to be damaged when it was read.
  void damaged(std::int64_t step, std::int64_t number);

  /// Returns whether flipped bits that nobody found are in the state.
  bool hides_flips() const { return hidden_; }
  /// Says that the run went back to a state after `from` updates when it had done `done`.
  void went_back(std::int64_t from, std::int64_t done, bool hides_flips);
  void found_no_way_back() { ++report_.not_restored; }
  /// Returns how often this step has been begun.
  std::int64_t attempts() const { return begun_.at(step_); }
  const FlipReport& report() const { return report_; }

 private:
  void say(std::string sentence);
  void raise(FlipDetector, const FlipKey*, std::string sentence);
  void find_all();
  // Flips of a tensor and what the memory made of them, and what a detector has seen of a tensor.
  struct Flipped {
    std::int64_t injected = 0, corrected = 0, known = 0, left = 0;
    std::string name = {};
  };
  struct Seen {
    bool finite = true;
    double largest = 0, limit = 0;  // of a range
    std::string name = {};
    void join(const Seen& more);
  };
  using Named = std::pair<FlipKey, FlipDetector>;
  std::string unsettled() const;
  void join(std::string_view unsettled);
  void count(const FlipKey&, const Flipped&);
  void count(const Named&, const Seen&);
  FlipCounts& counts(FlipClass of) { return report_.classes[static_cast<std::size_t>(of)]; }

  const Training& training_;
  FlipReport report_;
  std::int64_t step_ = 0;
  std::map<std::int64_t, std::int64_t> begun_;  // by step
  std::mutex mutex_;
  std::map<FlipKey, std::vector<BitFlip>> flipped_;  // in this step, of this process's tensors
  std::map<FlipKey, Flipped> drawn_;                 // that settle() has not counted yet
  std::map<Named, Seen> seen_;                       // likewise
  std::map<FlipKey, std::int64_t> left_;             // counted in this step: bits that stay flipped
  std::map<FlipKey, std::int64_t> unseen_;           // of them, how many nobody has found yet
  std::set<Named> named_;                            // tensors, once a step by each detector
  bool any_left_ = false;                            // bits flipped in this step that stay flipped
  bool alarmed_ = false, ended_ = false;             // in this step
  bool hidden_ = false;
  std::set<std::string> told_;  // sentences of the report, whatever their steps
  // The largest sizes of the steps before, and of this one; a class's tensors by number, whatever
  // the microbatch.
  using Largest = std::map<std::pair<FlipClass, std::uint64_t>, double>;
  Largest largest_, largest_now_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> in_saved_;  // flips, by step and
                                                                            // number
};

}  // namespace trainyard
