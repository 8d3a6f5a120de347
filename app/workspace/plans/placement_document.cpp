#include "app/workspace/plans/placement_document.h"

#include "core/io/json/fields.h"

namespace trainyard {
namespace {

Fields<JobKind> job_kind_fields() {
  return {{"name", &JobKind::name, text()},
          {"devices", &JobKind::devices, whole(1)},
          {"peak_bytes", [](const JobKind& kind) { return peak_of(kind.wave); }, whole(),
           "on all its devices together, at the worst phase of a step"},
          {"median_seconds", [](const JobKind& kind) { return to_seconds(kind.median); }, number()},
          {"spread", &JobKind::spread, number(), "of the logarithm of durations"},
          {"weight", &JobKind::weight, number(), "how often it arrives, relative to the others"}};
}

Fields<PolicyOutcome> policy_fields() {
  return {{"name", &PolicyOutcome::name, text()},
          {"peak_bytes", &PolicyOutcome::peak, number(), "of the most loaded node, mean of traces"},
          {"against_least_loaded", &PolicyOutcome::against_base, number(),
           "that peak against that of least loaded: -0.03 = 3 % lower"},
          {"peak_to_mean", &PolicyOutcome::peak_to_mean, number()},
          {"utilisation", &PolicyOutcome::utilisation, number(), "share of device-time"},
          {"fragmentation", &PolicyOutcome::fragmentation, number(),
           "share of free bytes that lie on nodes other than the emptiest"},
          {"mean_wait_seconds", &PolicyOutcome::mean_wait, number()},
          {"rejected", &PolicyOutcome::rejected, number(), "jobs of a trace"}};
}

Fields<PolicyVerdict> policy_verdict_fields() {
  return {
      {"a", &PolicyVerdict::a, text()},
      {"b", &PolicyVerdict::b, text()},
      {"change", &PolicyVerdict::change, number(), "of B's mean peak against A's"},
      {"verdict", [](const PolicyVerdict& v) { return std::string(to_string(v.verdict.outcome)); },
       text(), "too-few, not-significant, not-meaningful or better"},
      {"b_wins", [](const PolicyVerdict& v) { return v.verdict.probability; }, number(),
       "share of traces on which B's peak is lower, ties half"},
      {"p_value", [](const PolicyVerdict& v) { return v.verdict.p_value; }, number()},
      {"needed", [](const PolicyVerdict& v) { return v.verdict.needed; }, whole(),
       "further traces"}};
}

Fields<DecisionRegret> regret_fields() {
  return {{"decisions", &DecisionRegret::decisions, whole()},
          {"futures", &DecisionRegret::futures, whole(), "of each decision"},
          {"with_loss", &DecisionRegret::with_loss, whole(),
           "decisions at which the best place depends on the future"},
          {"loss", &DecisionRegret::loss, number(), "mean, as a share of hindsight's peak"},
          {"largest", &DecisionRegret::largest, number()}};
}

Fields<PlacementStudy> placement_fields() {
  const auto of = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.traces.*member; };
  };
  const auto nodes = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.traces.nodes.*member; };
  };
  const auto asked = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.*member; };
  };
  return document_fields<PlacementStudy>(
      "trainyard/placement",
      {{"nodes", nodes(&PlacedNodes::count), whole(1)},
       {"devices", nodes(&PlacedNodes::devices), whole(1), "of a node"},
       {"bytes", nodes(&PlacedNodes::bytes), whole(1), "of a node"},
       {"jobs", of(&TraceQuestion::jobs), whole(1), "of a trace"},
       {"load", of(&TraceQuestion::load), number(), "devices asked for, of all"},
       {"training", asked(&PlacementQuestion::training), whole(1), "traces"},
       {"held_out", asked(&PlacementQuestion::held_out), whole(1), "traces"},
       {"kinds", [](const PlacementStudy& study) { return study.question.traces.kinds; },
        list_of(object(job_kind_fields()))},
       {"policies", &PlacementStudy::policies, list_of(object(policy_fields()))},
       {"verdicts", &PlacementStudy::verdicts, list_of(object(policy_verdict_fields()))},
       {"peak_bound_bytes", &PlacementStudy::peak_bound, number(),
        "no schedule that starts jobs as they arrive and pairs none has a lower mean peak"},
       {"paired_bound_bytes", &PlacementStudy::paired_bound, number(), "likewise with pairs"},
       {"hindsight_beaten", &PlacementStudy::beaten, whole(),
        "traces on which a policy costs less than hindsight"},
       {"regret", &PlacementStudy::regret, object(regret_fields()), "of single decisions"},
       {"paired_regret", &PlacementStudy::paired_regret, object(regret_fields()),
        "likewise with pairs"}});
}

}  // namespace

std::string placement_document(const PlacementStudy& study) {
  return write_json(placement_fields().write(study));
}

Json placement_schema() { return placement_fields().schema(); }

}  // namespace trainyard
