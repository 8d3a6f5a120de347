// Writes a search as the document trainyard/search@1.
#include "app/cli/text/plans/plan_text.h"
#include "core/io/documents/result_json.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

struct RankedPlan {
  const PlanAnswer* answer;
  PlanId id;
  const Result* result;
  std::size_t rank;
};

std::vector<RankedPlan> ranked_plans(const PlanAnswer& a, const std::vector<Candidate>& plans,
                                     const std::vector<Result>& results) {
  std::vector<RankedPlan> list;
  for (std::size_t i = 0; i < results.size(); ++i)
    list.push_back({&a, plans[i].id, &results[i], i + 1});
  return list;
}

Fields<RankedPlan> ranked_plan_fields() {
  Fields<RankedPlan> fields;
  fields.add(result_fields(), [](const RankedPlan& p) -> const Result& { return *p.result; });
  fields.add({{"rank", &RankedPlan::rank, whole(1)},
              {"words", [](const RankedPlan& p) { return p.answer->space.words(p.id); }},
              {"reserved_bytes", [](const RankedPlan& p) { return reserved(*p.result); },
               "on the fullest device"}});
  return fields;
}

Fields<Reason> reason_fields() {
  return {{"sentence", &Reason::sentence},
          {"field", &Reason::field, kWhereSet, "of the plan, that forbids it"},
          {"fix", &Reason::fix, kWhereSet, "words of --set that mend it"},
          {"distance", &Reason::distance, "bytes over; share by which it is slower"}};
}

// Bytes are whole, and of nanoseconds the document has seconds.
Fields<Waterfall> waterfall_fields(double unit) {
  const auto figure = [unit](auto of) {
    return [unit, of](const auto& from) {
      const std::int64_t n = std::invoke(of, from);
      return unit == 1 ? Json(n) : Json(static_cast<double>(n) / unit);
    };
  };
  const Form<Json> real = any(number().schema);
  const Fields<CausePart> part = {{"name", &CausePart::name},
                                  {"a", figure(&CausePart::mine), real},
                                  {"b", figure(&CausePart::theirs), real},
                                  {"difference", figure(&CausePart::difference), real}};
  return {{"a", figure(&Waterfall::mine), real},
          {"b", figure(&Waterfall::theirs), real},
          {"parts", &Waterfall::parts, list_of(object(part)), "they sum to the whole"}};
}

struct TwoResults {
  const Result *a, *b;
};

Fields<TwoResults> between_fields() {
  return {{"seconds", [](const TwoResults& of) { return time_by_cause(*of.a, *of.b); },
           object(waterfall_fields(1e9)), "the step by cause"},
          {"bytes", [](const TwoResults& of) { return bytes_by_cause(*of.a, *of.b); },
           object(waterfall_fields(1)), "the fullest device's memory by category"}};
}

struct RefinedOf {
  const PlanAnswer* answer;
  const RefinedPlan* plan;
};

std::vector<RefinedOf> refined_plans(const PlanAnswer& a) {
  std::vector<RefinedOf> list;
  for (const RefinedPlan& plan : a.refined) list.push_back({&a, &plan});
  return list;
}

Fields<RefinedOf> refined_fields() {
  const auto of = [](auto member) { return in(&RefinedOf::plan, member); };
  return {{"words", [](const RefinedOf& r) { return r.answer->space.words(r.plan->from); }},
          {"changes", of(&RefinedPlan::changes)},
          {"step_seconds", of(&RefinedPlan::step)},
          {"simulated_seconds", of(&RefinedPlan::simulated), kWhereSet},
          {"reserved_bytes", of(&RefinedPlan::memory)}};
}

struct SampleOf {
  const PlanAnswer* answer;
  const FateSample* sample;
};

std::vector<SampleOf> samples(const PlanAnswer& a) {
  std::vector<SampleOf> list;
  for (const FateSample& sample : a.fates) list.push_back({&a, &sample});
  return list;
}

Fields<SampleOf> sample_fields() {
  Fields<SampleOf> fields;
  fields.add(reason_fields(), in(&SampleOf::sample, &FateSample::reason));
  fields.add({{"fate", in(&SampleOf::sample, &FateSample::fate)},
              {"words", [](const SampleOf& s) { return s.answer->space.words(s.sample->id); }}});
  return fields;
}

Fields<Opening> opening_fields() {
  return {{"flag", &Opening::flag},
          {"words", &Opening::words},
          {"fits", &Opening::fits},
          {"margin_bytes", &Opening::margin, signed_whole()},
          {"step_seconds", &Opening::step}};
}

// Of an answer in which nothing fits.
Fields<PlanAnswer> none_fields() {
  using Words = std::vector<std::string>;
  const auto least = [](Bytes NoPlan::* member) {
    return [member](const PlanAnswer& a) {
      return a.none->least ? std::optional<Bytes>((*a.none).*member) : std::nullopt;
    };
  };
  const auto words = [](const PlanAnswer& a) {
    return a.none->least ? std::optional<Words>(a.space.words(*a.none->least)) : std::nullopt;
  };
  return {{"words", words, "of the plan that needs least memory"},
          {"reserved_bytes", least(&NoPlan::memory)},
          {"over_bytes", least(&NoPlan::over)},
          {"reason", [](const PlanAnswer& a) -> const Reason& { return a.none->reason; },
           object(reason_fields())},
          {"openings", [](const PlanAnswer& a) -> const auto& { return a.none->openings; },
           list_of(object(opening_fields()))}};
}

// Of an answer that says why a plan lost.
Fields<PlanAnswer> why_fields() {
  using Words = std::vector<std::string>;
  const auto of = [](auto member) {
    return in([](const PlanAnswer& a) -> const WhyPlan& { return *a.why; }, member);
  };
  const auto nearest = [](const PlanAnswer& a) {
    return a.why->nearest ? std::optional<Words>(a.space.words(*a.why->nearest)) : std::nullopt;
  };
  const auto against = [](const PlanAnswer& a) -> std::optional<TwoResults> {
    if (!a.why->mine || !a.why->best) return std::nullopt;
    return TwoResults{&*a.why->best, &*a.why->mine};
  };
  Fields<PlanAnswer> fields;
  fields.add(reason_fields(), of(&WhyPlan::reason));
  fields.add({{"fate", in(of(&WhyPlan::reason), &Reason::fate)},
              {"words", of(&WhyPlan::words)},
              {"matches", of(&WhyPlan::matches), "plans of the space that have the words"},
              {"outside", of(&WhyPlan::outside), kWhereSet, "why it is none of the space"},
              {"nearest", nearest, "the plan that wins nearest to it"},
              {"result", of(&WhyPlan::mine), object(result_fields())},
              {"against_best", against, object(between_fields())}});
  return fields;
}

// The fates before `end`; one that no plan has is absent.
Fields<SearchResult> fate_fields(std::size_t end) {
  Fields<SearchResult> fields;
  for (std::size_t f = 0; f < end; ++f)
    fields.add({std::string(to_string(static_cast<Fate>(f))),
                [f](const SearchResult& found) { return found.fates[f]; }, whole(1), kWhereSet});
  return fields;
}

double plans_per_second(const PlanAnswer& a) {
  return a.found.seconds > 0 ? static_cast<double>(a.found.tried) / a.found.seconds : 0.0;
}

std::optional<TwoResults> runner_up(const PlanAnswer& a) {
  if (a.best.size() < 2) return std::nullopt;
  return TwoResults{&a.best[0], &a.best[1]};
}

Fields<PlanAnswer> search_fields() {
  using A = PlanAnswer;
  const auto found = [](auto member) {
    return [member](const A& a) -> const auto& { return a.found.*member; };
  };
  const auto whole_search = [](const A& a) -> const SearchResult& { return a.found; };
  const auto ranked = list_of(object(ranked_plan_fields()));
  const Fields<Knob> knob = {{"knob", &Knob::key}, {"values", &Knob::values}};
  return document_fields<A>(
      "trainyard/search",
      {{"evaluated", found(&SearchResult::tried), "plans tried, each once"},
       {"feasible", found(&SearchResult::fitting), "of them, those that fit"},
       {"estimated", found(&SearchResult::estimated), "of them, by the whole closed form"},
       {"simulated", found(&SearchResult::simulated)},
       {"seconds", &A::seconds, "of the whole answer, simulation and causes included"},
       {"plans_per_second", plans_per_second, "while they were priced"},
       {"stopped", found(&SearchResult::stopped), "before all were tried"},
       {"objective", [](const A& a) { return to_string(a.options.objective); }},
       {"space", [](const A& a) -> const auto& { return a.space.knobs(); }, list_of(object(knob))},
       {"best", [](const A& a) { return ranked_plans(a, a.found.best, a.best); }, ranked},
       {"pareto", [](const A& a) { return ranked_plans(a, a.found.front, a.front); }, ranked,
        "by the closed form, by time"},
       {"rejected", whole_search, object(fate_fields(static_cast<std::size_t>(Fate::Front))),
        "the plans that are not of the front, by reason"},
       {"fates", whole_search, object(fate_fields(kFates)),
        "of all plans; they add up to evaluated"},
       {"samples", samples, list_of(object(sample_fields())), "one plan of each fate"},
       {"runner_up", runner_up, object(between_fields()), "from the first to the second"},
       {"refined", refined_plans, list_of(object(refined_fields())), kWhereSet,
        "beyond the grid, quicker than the best of it"},
       {"nothing_fits", [](const A& a) { return a.none ? &a : nullptr; }, object(none_fields())},
       {"why", [](const A& a) { return a.why ? &a : nullptr; }, object(why_fields())}});
}

}  // namespace

Json search_schema() { return search_fields().schema(); }

std::string search_document(const PlanAnswer& answer) {
  return write_json(search_fields().write(answer));
}

}  // namespace trainyard
