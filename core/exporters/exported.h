// Exported is the result of an exporter: text for another program, and what that text expresses
// only in part. What it cannot express at all is refused, all of it at once, and nothing is
// written.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

struct Exported {
  std::string text;
  Diagnostics warnings = {};  // what is expressed in part, or left to the user of the text
  // A C program also has a header and one name for "NAME.h" and "NAME.c"; elsewhere both are empty.
  std::string header = {}, name = {};
};

/// Places of these choices in a plan.
inline constexpr std::string_view kZeroPlace = "plan#/choices/zero";
inline constexpr std::string_view kRecomputePlace = "plan#/choices/recompute";

/// Limits collects what a target cannot express of a plan.
class Limits {
 public:
  /// The target is given in words: "Megatron-LM".
  explicit Limits(std::string_view target) : target_(target) {}

  /// The place is as in "plan#/mesh/order"; the fix is a "--set" argument where one exists.
  void refuse(std::string_view place, std::string sentence, std::string fix = {});
  void warn(std::string_view place, std::string sentence, std::string fix = {});
  /// Throws Error{Unsupported} with one line for each refusal.
  void throw_if_refused() const;
  /// Both are in the order in which they were found.
  Diagnostics warnings() const { return of(Diagnostic::Severity::Warning); }
  Diagnostics refusals() const { return of(Diagnostic::Severity::Error); }

 private:
  Diagnostics of(Diagnostic::Severity) const;

  std::string target_;
  Diagnostics found_;
};

/// World says how many processes run where, one per device.
struct World {
  std::int64_t devices = 1, nodes = 1, per_node = 1;
};
/// Takes a legal scenario. Refuses a partly filled node, which launchers cannot describe.
World world_of(const Scenario&, Limits&);

/// Refuses adapters and frozen parts for a target that trains all weights of its models. `instead`
/// says who has them: "Megatron-Bridge has adapters".
void refuse_frozen(const Scenario&, Limits&, std::string_view instead);

/// Returns what every exported file says of itself: the program, model and cluster for which it is,
/// and the whole plan as settings, in lines of at most 96 characters. Characters that do not print
/// are written as "?", so that no name can end a comment.
std::vector<std::string> about_lines(const Scenario&, std::string_view program);
/// Returns letters, digits, dots, dashes and underscores; any other character becomes a dash. Never
/// empty.
std::string plain_name(std::string_view);

/// Returns the settings with which a device holds one stage. A chosen schedule with several chunks
/// is removed too, because it would require them again.
std::string one_stage_a_device(const Plan&);

/// Returns a chosen method's settings with its defaults; only the defaults where it is not chosen.
Params params_of(const Plan&, std::string_view method);

/// Refuses a batch ramp for a target whose batch is one number.
void refuse_batch_ramp(const Plan&, Limits&);
/// Refuses a plan that says when it is evaluated.
void refuse_evaluation(const Plan&, Limits&);
/// Refuses a plan that says where its samples come from.
void refuse_input(const Plan&, Limits&);

/// Refuses a plan whose replicas do not take the mean of their whole gradients: no target has
/// another way.
void refuse_reduce(const Plan&, Limits&);

/// Refuses a plan that stores sparse weights.
void refuse_sparse(const Plan&, Limits&);

/// Refuses formats of classes of tensors, by the parameters of the method tensor-formats, that are
/// not those which the precision decides.
void refuse_formats(const Plan&, std::initializer_list<std::string_view> params, Limits&);

/// Refuses a plan whose devices run operators beside each other.
void refuse_operator_stages(const Plan&, Limits&);
void refuse_divided_images(const Plan&, Limits&);

/// Refuses layers whose weights tensor ranks do not divide, for a target that divides those of all.
void refuse_ulysses_layers(const Plan&, Limits&);

/// Warns where the plan packs or pads documents, which no target has a word for: they are its data.
void warn_of_documents(const Plan&, Limits&);

}  // namespace trainyard
