// A study of a scenario's embedding tables as tensor trains (core/training/table_study.h): its
// question from the plan, its answer in sentences, and as one trainyard/tables document.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/io/json/json.h"
#include "core/plan/plan.h"
#include "core/training/table_study.h"

namespace trainyard {

struct TableTrainsRequest {
  Scenario scenario;  // its plan may be incomplete, and may train tables as cores or as they are
  std::vector<std::int64_t> ranks = {4, 8, 16, 32, 64, 128};
  double times = 100;     // the best rank is the largest that makes tables so much smaller
  double zipf = 0;        // exponent of Zipf's law; 0 = the plan's
  std::string data = {};  // of data_sources(); empty = what the model's family is trained on,
                          // "none" = no look-ups are counted
  std::uint64_t seed = 1;
  /// The cost model of a plan at some rank; empty = the workbench's own.
  std::function<std::unique_ptr<CostModel>(const Scenario&)> cost = {};
  std::stop_token stop = {};
};

inline constexpr double kLeastTimes = 1, kMostTimes = 1e6;
inline constexpr double kLeastZipf = 0.01, kMostZipf = 10;

/// Reads "4,8,16": whole numbers from 1 to kMostRank, each once, in any order; returns them rising.
/// Throws Error{InvalidInput} at the place.
std::vector<std::int64_t> train_ranks(const std::string& list, const Place&);

/// Throws as study_tables() and open_data() do, and Error{InvalidInput} with every error of the
/// scenario or where the data do not fit the model.
TableStudy study_table_trains(const TableTrainsRequest&);

/// Returns what follows from the study: the plan's tables, the best rank, and its cache.
std::vector<std::string> table_study_sentences(const TableStudy&);

Json tables_schema();
std::string tables_document(const TableStudy&);

}  // namespace trainyard
