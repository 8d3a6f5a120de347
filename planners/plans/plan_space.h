// A PlanSpace is every plan that a search may try for one model on one cluster: the base plan with
// each knob at each of its values. A knob is a setting (core/methods/settings/settings.h) and its
// values are written as --set takes them, so a point of the space is a list of settings that anyone
// can type.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// A point of a space: an index into all combinations of all values, in which the last knob varies
/// fastest.
using PlanId = std::uint64_t;

struct Knob {
  std::string key;                  // key of a setting, or "devices"
  std::vector<std::string> values;  // at least one; a single value means that the knob is fixed
  friend bool operator==(const Knob&, const Knob&) = default;
};

/// The values that a user allows for a knob: "8"; "1..8" (those of its default values in the range,
/// or every power of two if it has a single default); "1,2,4"; "none,full"; or "any" (all that the
/// setting knows).
struct Bound {
  std::string key, values;
};

class PlanSpace {
 public:
  /// The plan of `base` need not be complete, and the settings in `fixed` stay as that plan has
  /// them. Every other knob of knob_keys() takes its default values unless a bound replaces them.
  /// Throws Error{InvalidInput} for an unknown knob (naming the nearest), a value the setting does
  /// not know, a knob that is both fixed and bound, a base without a global batch, and more than
  /// kMostPlans combinations.
  PlanSpace(const Scenario& base, std::span<const std::string> fixed, std::span<const Bound>);

  const Scenario& base() const { return base_; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  std::uint64_t combinations() const {
    return combinations_;
  }  // includes combinations that are not canonical

  /// The index of each knob's value, by knob.
  std::vector<std::uint32_t> digits(PlanId) const;
  PlanId id(std::span<const std::uint32_t> digits) const;
  std::uint64_t stride(std::size_t knob) const { return strides_[knob]; }
  std::uint32_t digit(PlanId, std::size_t knob) const;
  const std::string& value(PlanId id, std::size_t knob) const {
    return knobs_[knob].values[digit(id, knob)];
  }
  /// The canonical form of a point, in which knobs that have no effect (sequence parallelism with
  /// one tensor rank, ZeRO with one replica, a schedule without a pipeline) have their first value.
  /// Empty if the combination is no plan: its degrees do not multiply to the devices, or the
  /// schedule does not support its chunks.
  std::optional<std::vector<std::uint32_t>> canonical(std::span<const std::uint32_t> digits) const;
  /// The index of a knob by its key; every key of knob_keys() is present.
  std::size_t knob(std::string_view key) const;
  /// The value as a number; 1 if it is a word.
  std::int64_t number(std::size_t knob, std::uint32_t digit) const { return numbers_[knob][digit]; }

  /// The base with every knob applied, with an uneven split if the layers do not divide, and with
  /// the cluster reduced to the devices that the point uses.
  Scenario scenario(PlanId) const;
  /// Splits layers by this function where the cluster is mixed, the base names no split and the
  /// plan is a pipeline. It is called once for each plan, from several threads; a plan for which it
  /// throws keeps its even split.
  void weigh_stages_by(std::function<StageSplit(const Scenario&)>);
  /// Returns this space on another cluster of as many devices, with even splits.
  PlanSpace on(Cluster) const;
  /// Returns this space with further plans: each of its own with activations that leave for the
  /// host, a stage's at once or layer by layer. Empty where the device has no link to the host, and
  /// where the space offloads already.
  std::optional<PlanSpace> offloading() const;
  Plan plan(PlanId) const;
  /// "tp=8", "pp=4" ...: every knob that is not fixed, and an uneven split if there is one.
  std::vector<std::string> words(PlanId) const;
  /// The canonical point with these settings. Empty if a setting differs from what the space fixes
  /// or is not among a knob's values; `why` then receives a sentence that says so.
  std::optional<PlanId> find(const Plan& complete_plan, std::string* why = nullptr) const;

  static constexpr std::uint64_t kMostPlans = std::uint64_t{1} << 31;

 private:
  void make_index();
  Cluster cluster(PlanId) const;

  Scenario base_;
  std::vector<Knob> knobs_;
  std::uint64_t combinations_ = 1;
  std::vector<std::uint64_t> strides_;              // by knob
  std::vector<std::vector<std::int64_t>> numbers_;  // by knob and value
  struct Weighing;
  std::shared_ptr<Weighing> weighing_;  // shared by copies of the space
};

/// The number of layers of each stage if they do not divide evenly: stages in the middle get one
/// more, because the first also has the embedding and the last the head. Empty if they divide, or
/// if there are more stages than layers.
std::vector<int> uneven_split(int layers, std::int64_t stages);
/// Returns whether the schedule supports this many chunks per device.
bool chunks_fit(std::string_view schedule, std::int64_t chunks);

/// The knob that says how activations leave, and whether a value of the knob "offload" has them do
/// so; else the other has no effect.
inline constexpr std::string_view kOffloadLayers = "offload-layers";
inline bool offloads_activations(std::string_view offload) {
  return offload == "activations" || offload == "both";
}
/// Every knob of a space in order, starting with those of the mesh.
std::span<const std::string_view> knob_keys();
/// The values of the knob if there is no bound for it.
std::vector<std::string> default_values(const Scenario& base, std::string_view key);
/// The cluster reduced to its first `devices` devices. Throws Error{InvalidInput} if these are not
/// whole nodes.
Cluster with_devices(const Cluster&, std::int64_t devices);

}  // namespace trainyard
