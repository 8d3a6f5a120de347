// A PlanSpace is every plan that a search may try for one model on one cluster: the base plan with
// each knob at each of its values. A knob is a setting (core/methods/settings/settings.h) and its
// values are written as --set writes them, so a point of the space is a list of words that anyone
// can type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// A point of a space: an index into all combinations of all values, the last knob fastest.
using PlanId = std::uint64_t;

struct Knob {
  std::string key;                  // a setting's, or "devices"
  std::vector<std::string> values;  // at least one; one = fixed
  friend bool operator==(const Knob&, const Knob&) = default;
};

/// What a person allows a knob: "8", "1..8" (of the values it would have, or every power of two
/// where it would have one only), "1,2,4", "none,full", or "any" (all that the setting knows).
struct Bound {
  std::string key, values;
};

class PlanSpace {
 public:
  /// base: its plan need not be complete; the keys in `fixed` stay as the plan has them. Every
  /// other knob of knob_keys() takes its own default values, and a bound replaces them.
  /// Throws Error{InvalidInput}: an unknown knob (nearest), a value the setting does not know, a
  /// knob that is both fixed and bound, a base without a global batch, more than kMostPlans
  /// combinations.
  PlanSpace(const Scenario& base, std::span<const std::string> fixed, std::span<const Bound>);

  const Scenario& base() const { return base_; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  std::uint64_t combinations() const { return combinations_; }  // canonical or not

  /// Which value each knob has, by knob.
  std::vector<std::uint32_t> digits(PlanId) const;
  PlanId id(std::span<const std::uint32_t> digits) const;
  std::uint64_t stride(std::size_t knob) const { return strides_[knob]; }
  std::uint32_t digit(PlanId, std::size_t knob) const;
  const std::string& value(PlanId id, std::size_t knob) const {
    return knobs_[knob].values[digit(id, knob)];
  }
  /// The one spelling of the point's plan: knobs that say nothing in it (sequence parallel with one
  /// tensor rank, ZeRO with one replica, a schedule without a pipeline) at their first value.
  /// Nothing for a combination that is no plan: degrees that do not make up the devices, chunks
  /// that the schedule does not have.
  std::optional<std::vector<std::uint32_t>> canonical(std::span<const std::uint32_t> digits) const;
  /// Index of a knob by its key; every key of knob_keys() is there.
  std::size_t knob(std::string_view key) const;
  /// The value as a number; 1 where it is a word.
  std::int64_t number(std::size_t knob, std::uint32_t digit) const { return numbers_[knob][digit]; }

  /// The base with every knob applied, and an uneven split where layers do not divide; the cluster
  /// with as many devices as the point uses.
  Scenario scenario(PlanId) const;
  Plan plan(PlanId) const;
  /// "tp=8", "pp=4" ...: every knob that is not fixed, and an uneven split.
  std::vector<std::string> words(PlanId) const;
  /// The canonical point that has these settings; nothing when a setting differs from what the
  /// space fixes or is not among a knob's values, with the sentence that says so in `why`.
  std::optional<PlanId> find(const Plan& complete_plan, std::string* why = nullptr) const;

  static constexpr std::uint64_t kMostPlans = std::uint64_t{1} << 31;

 private:
  void make_index();

  Scenario base_;
  std::vector<Knob> knobs_;
  std::uint64_t combinations_ = 1;
  std::vector<std::uint64_t> strides_;              // by knob
  std::vector<std::vector<std::int64_t>> numbers_;  // by knob and value
};

/// Layers of each stage where they do not divide: one more for stages in the middle, because the
/// first has the embedding too and the last the head. Empty where they divide, or where there are
/// more stages than layers.
std::vector<int> uneven_split(int layers, std::int64_t stages);
/// Whether the schedule has so many chunks a device.
bool chunks_fit(std::string_view schedule, std::int64_t chunks);

/// Every knob of a space, in order: those of the mesh first.
std::span<const std::string_view> knob_keys();
/// What the knob would be given without a bound.
std::vector<std::string> default_values(const Scenario& base, std::string_view key);
/// The cluster cut to its first `devices` devices. Throws Error{InvalidInput} when they are no
/// whole nodes.
Cluster with_devices(const Cluster&, std::int64_t devices);

}  // namespace trainyard
