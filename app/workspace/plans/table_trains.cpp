#include "app/workspace/plans/table_trains.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/split_list.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/trained_parts.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

constexpr const char* kTrainMethod = "tensor-train";
constexpr const char* kNoData = "none";

// The plan with tables of that rank, and else as it is; 0 = with tables as they are.
Scenario at_rank(const Scenario& scenario, std::int64_t rank) {
  Scenario changed = scenario;
  changed.model = as_given(std::move(changed.model));
  apply_words(changed.plan, rank == 0 ? "tt-rank=off" : fmt::format("tt-rank={}", rank));
  return changed;
}

// Another rank may be refused for reasons that the plan's own has not.
std::optional<PricedTables> priced_at(const TableTrainsRequest& request, std::int64_t rank) {
  const Scenario scenario = at_rank(request.scenario, rank);
  try {
    for (const Diagnostic& found : check(scenario))
      if (found.severity == Diagnostic::Severity::Error) return std::nullopt;
    const std::unique_ptr<CostModel> cost =
        request.cost ? request.cost(scenario) : cost_model(scenario);
    const Result result = estimate(scenario, cost.get());
    return PricedTables{result.step.value, worst_peak(result)};
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) throw;
    return std::nullopt;
  }
}

std::string cache_sentence(const TableStudy& s, const CachedRows& at) {
  std::string sentence =
      fmt::format("A cache of the {} hottest rows of each table serves {} of the look-ups",
                  readable_count(static_cast<double>(at.rows)), readable_share(at.hits));
  if (at.counted_hits) sentence += fmt::format(" ({} counted)", readable_share(*at.counted_hits));
  sentence += fmt::format(", and spares {} of the rows of a microbatch of {}",
                          readable_share(at.spared), s.micro_batch);
  if (at.counted_spared)
    sentence += fmt::format(" ({} counted)", readable_share(*at.counted_spared));
  return sentence + ".";
}

// The smallest cache that serves half of the look-ups.
const CachedRows* half_served(const TableStudy& s) {
  constexpr double kHalf = 0.5;
  const auto found = std::find_if(s.caches.begin(), s.caches.end(),
                                  [&](const CachedRows& at) { return at.hits >= kHalf; });
  return found == s.caches.end() ? nullptr : &*found;
}

std::string rank_sentence(const TableStudy& s, const TablesAtRank& at) {
  std::string sentence = fmt::format(
      "At rank {} all tables take {} in place of {}, {:.3g} times less; a look-up in each takes {} "
      "forward and {} backward",
      at.rank, readable(at.bytes), readable(s.ranks.front().bytes), at.times,
      readable(Flops{at.forward_flops}), readable(Flops{at.backward_flops}));
  const std::optional<PricedTables>& rows = s.ranks.front().priced;
  if (at.priced && rows)
    sentence += fmt::format(
        ". A step takes {} in place of {}, and the fullest device {} in place of {}, by the closed "
        "form",
        readable_step(at.priced->step), readable_step(rows->step), readable(at.priced->peak),
        readable(rows->peak));
  return sentence + ".";
}

Fields<TablesAtRank> rank_fields() {
  using R = TablesAtRank;
  return {{"rank", &R::rank, whole(0, kMostRank), "0: tables as rows"},
          {"bytes", &R::bytes, "of the numbers of all tables"},
          {"times_smaller", &R::times, number(), "than as rows"},
          {"forward_flops", &R::forward_flops, number(), "of one look-up in each table"},
          {"backward_flops", &R::backward_flops, number(), "of the gradients of these"},
          {"step_seconds",
           [](const R& r) { return r.priced ? std::optional(r.priced->step) : std::nullopt; },
           "by the closed form; absent where the plan is refused at this rank"},
          {"peak_bytes",
           [](const R& r) { return r.priced ? std::optional(r.priced->peak) : std::nullopt; },
           "of the fullest device"}};
}

std::vector<std::int64_t> listed(const CoreDigits& digits) {
  return {digits.begin(), digits.end()};
}

Fields<TensorTrain> train_fields() {
  return {{"row_bases", [](const TensorTrain& t) { return listed(t.row_bases); }, list_of(whole(1)),
           "whose product is at least the rows"},
          {"column_bases", [](const TensorTrain& t) { return listed(t.column_bases); },
           list_of(whole(1)), "whose product is the width"},
          {"first_rank", &TensorTrain::first_rank, whole(1)},
          {"second_rank", &TensorTrain::second_rank, whole(1)},
          {"numbers", [](const TensorTrain& t) { return t.weights(); }, whole(1), "of all cores"}};
}

Fields<StudiedTable> studied_fields() {
  return {{"name", &StudiedTable::name},
          {"rows", &StudiedTable::rows, whole(1)},
          {"width", &StudiedTable::width, whole(1)},
          {"bytes", &StudiedTable::bytes, "as rows"},
          {"cores", &StudiedTable::train, object(train_fields()),
           "at \"rank\"; absent: it stays as rows"}};
}

Fields<CachedRows> cached_fields() {
  return {{"rows", &CachedRows::rows, whole(1), "of each table that has so many"},
          {"hits", &CachedRows::hits, number(kShare), "by Zipf's law, of all look-ups"},
          {"counted_hits", &CachedRows::counted_hits, number(kShare),
           "of later look-ups in the data, of rows that were most frequent before"},
          {"spared", &CachedRows::spared, number(kShare),
           "by Zipf's law: look-ups whose row a microbatch has made already"},
          {"counted_spared", &CachedRows::counted_spared, number(kShare),
           "as tt-cache spares them in microbatches of the data"}};
}

Fields<TableStudy> tables_fields() {
  using S = TableStudy;
  return document_fields<S>(
      "trainyard/tables",
      {{"rank", &S::rank, whole(0, kMostRank), "the plan's, else the best; 0: there is neither"},
       {"best_rank", &S::best, whole(1, kMostRank),
        "the largest that makes tables \"times\" smaller"},
       {"times", &S::times, number()},
       {"zipf", &S::zipf, number(), "exponent of the law by which rows are looked up"},
       {"ranks", &S::ranks, list_of(object(rank_fields()))},
       {"tables", &S::tables, list_of(object(studied_fields()))},
       {"caches", &S::caches, list_of(object(cached_fields()))},
       {"micro_batch", &S::micro_batch, whole(1), "samples"},
       {"counted_lookups", &S::counted, whole(), "0: none were counted"},
       {"data", &S::data, kWhereSet, "whose look-ups were counted"}});
}

}  // namespace

std::vector<std::int64_t> train_ranks(const std::string& list, const Place& place) {
  std::vector<std::int64_t> ranks;
  const auto wrong = [&](const std::string& problem) {
    return Error(Error::Kind::InvalidInput,
                 fmt::format("expected whole numbers from 1 to {} with commas between them, {} "
                             "\"{}\"",
                             kMostRank, problem, list.substr(0, 80)),
                 place);
  };
  for (const std::string_view word : split_list(list)) {
    const auto rank = number_of<std::int64_t>(word);
    if (!rank || *rank < 1 || *rank > kMostRank) throw wrong("found");
    if (std::find(ranks.begin(), ranks.end(), *rank) != ranks.end())
      throw wrong(fmt::format("each once, found {} twice in", *rank));
    ranks.push_back(*rank);
  }
  if (ranks.empty()) throw wrong("found");
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TableStudy study_table_trains(const TableTrainsRequest& request) {
  Scenario scenario = request.scenario;
  throw_if_errors(check(scenario));
  scenario.plan = complete(scenario);
  const Workload work = prepare(scenario);
  TableQuestion question;
  question.model = as_given(std::move(scenario.model));
  question.ranks = request.ranks;
  question.times = request.times;
  question.bytes = bytes_of(work.layout.precision.parameter);
  question.micro_batch = scenario.plan.batch.micro;
  question.sequence = scenario.plan.batch.sequence;
  if (const Choice* const chosen = find_choice(scenario.plan, kTrainMethod)) {
    question.chosen = chosen->params.integer("rank");
    question.least_rows = chosen->params.integer("tables");
    question.zipf = chosen->params.number("zipf");
  }
  if (request.zipf > 0) question.zipf = request.zipf;
  std::unique_ptr<DataSource> data;
  if (request.data != kNoData) {
    const std::string name =
        request.data.empty() ? std::string(default_data(question.model)) : request.data;
    data = open_data(name, DataSeeds(request.seed));
    throw_if_errors(data->check(question.model));
    question.data = data.get();
    question.data_words = data->provenance();
  }
  question.price = [&](std::int64_t rank) { return priced_at(request, rank); };
  question.stop = request.stop;
  return study_tables(question);
}

std::vector<std::string> table_study_sentences(const TableStudy& s) {
  std::vector<std::string> said;
  for (const TablesAtRank& at : s.ranks)
    if (at.rank > 0 && at.rank == s.rank) said.push_back(rank_sentence(s, at));
  if (!s.best)
    said.push_back(fmt::format("No rank makes the tables {:g} times smaller.", s.times));
  else if (*s.best != s.rank)
    said.push_back(fmt::format("{} is the largest rank at which the tables are {:g} times smaller.",
                               *s.best, s.times));
  if (const CachedRows* const half = half_served(s)) said.push_back(cache_sentence(s, *half));
  return said;
}

Json tables_schema() { return tables_fields().schema(); }

std::string tables_document(const TableStudy& s) { return write_json(tables_fields().write(s)); }

}  // namespace trainyard
