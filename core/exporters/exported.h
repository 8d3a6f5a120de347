// What an exporter gives: text in another program's words, and what those words say only in part.
// What they cannot say at all is refused, all of it at once, and nothing is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

struct Exported {
  std::string text;
  Diagnostics warnings = {};  // said in part, or left to whoever uses the text
};

/// Where these choices stand in a plan.
inline constexpr std::string_view kZeroPlace = "plan#/choices/zero";
inline constexpr std::string_view kRecomputePlace = "plan#/choices/recompute";

/// Collects what a target cannot say of a plan.
class Limits {
 public:
  /// In words: "Megatron-LM".
  explicit Limits(std::string_view target) : target_(target) {}

  /// Place as in "plan#/mesh/order"; fix as a "--set" argument where one exists.
  void refuse(std::string_view place, std::string sentence, std::string fix = {});
  void warn(std::string_view place, std::string sentence, std::string fix = {});
  /// Throws Error{Unsupported}, a line each of what was refused.
  void throw_if_refused() const;
  /// Each in the order in which they were found.
  Diagnostics warnings() const { return of(Diagnostic::Severity::Warning); }
  Diagnostics refusals() const { return of(Diagnostic::Severity::Error); }

 private:
  Diagnostics of(Diagnostic::Severity) const;

  std::string target_;
  Diagnostics found_;
};

/// How many processes run where, one a device.
struct World {
  std::int64_t devices = 1, nodes = 1, per_node = 1;
};
/// Of a legal scenario. Refuses a node that is filled in part, of which launchers know nothing.
World world_of(const Scenario&, Limits&);

/// What every exported file says of itself: for which program it is, of which model and cluster,
/// and the whole plan as settings, in lines of at most 96 characters. Whatever does not print is
/// written as "?", so that no name ends a comment.
std::vector<std::string> about_lines(const Scenario&, std::string_view program);
/// Letters, digits, dots, dashes and underscores; anything else becomes a dash. Never empty.
std::string plain_name(std::string_view);

/// The settings by which a device holds one stage: a schedule of several chunks that was chosen
/// goes too, as it would ask for them back.
std::string one_stage_a_device(const Plan&);

/// A chosen method's settings with its defaults; nothing but the defaults where it is not chosen.
Params params_of(const Plan&, std::string_view method);

}  // namespace trainyard
