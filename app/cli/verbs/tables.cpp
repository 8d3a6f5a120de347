// tables: what tensor trains make of a model's embedding tables, by rank, and what a cache of hot
// rows serves.
#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/plans/tables_text.h"
#include "app/cli/verb.h"
#include "app/workspace/plans/table_trains.h"
#include "app/workspace/scenario/prices.h"
#include "visualizers/memory/tables_view.h"

namespace trainyard {
namespace {

int run_tables(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is computed
  TableTrainsRequest request;
  if (words.has("ranks")) request.ranks = train_ranks(words.text("ranks"), {"--ranks"});
  request.times = words.number("smaller", kLeastTimes, kMostTimes, request.times);
  if (words.has("zipf")) request.zipf = words.number("zipf", kLeastZipf, kMostZipf, 1);
  request.data = words.text("data");
  request.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(request.seed)));
  request.scenario = open_scenario(words, streams);
  request.cost = prices_of_plans(prices_word(words));
  const InterruptStop interrupt;
  request.stop = interrupt.token();
  const TableStudy found = study_table_trains(request);
  write_table_and_picture(
      tables_chart(found, TablesPicture::Numbers).rows, [&] { return tables_picture(found); },
      words, streams);
  deliver(words.has("json") ? tables_document(found) : tables_text(found), words, streams);
  return found.best ? kDone : kNotMet;
}

}  // namespace

Verb tables_verb() {
  std::vector<Flag> flags = {
      {"ranks", "LIST", "ranks of the cores (default 4,8,16,32,64,128)"},
      {"smaller", "TIMES",
       "finds the largest rank at which all tables are so many times smaller (default 100); exit 3 "
       "where none is"},
      {"zipf", "S", "exponent of Zipf's law by which rows are looked up; else the plan's, or 1"},
      {"data", "NAME",
       "counts its look-ups beside the law's, as run takes it; none: the law alone; else chosen to "
       "suit the model"},
      {"seed", "N", "of the data (default 1)"},
      calibration_flag(),
      cost_flag(),
      {"json", "", "one trainyard/tables@1 document and nothing else"}};
  for (Flag& flag :
       table_and_picture_flags("a row for each rank",
                               "draws bytes and FLOPs by rank, what a cache serves, and the cores"))
    flags.push_back(std::move(flag));
  return {.name = "tables",
          .summary =
              "What tensor trains make of embedding tables, by rank, and what hot rows "
              "serve.",
          .flags = with_scenario_flags(std::move(flags)),
          .examples = {"tables --model dlrm-mlperf --cluster h100-sxm:8 --set global-batch=65536 "
                       "--set micro-batch=8192 --data none",
                       "tables --model dlrm-tiny --cluster cpu:1 --set global-batch=64 --smaller 5 "
                       "--json"},
          .run = run_tables};
}

}  // namespace trainyard
