// Repeats of a run, as text and as a document: what each reached, and how far apart they are.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/runs/run_scores.h"
#include "core/io/json/json.h"

namespace trainyard {

struct RunRepeats {
  std::string model, cluster;
  std::vector<RandomSource> varied;
  std::string tag;  // of all of them in the run list; empty where none was recorded
  std::vector<RunScore> scores;
  bool stopped = false;  // before all were done
};

std::string repeats_text(const RunRepeats&);
/// A trainyard/repeats document.
std::string repeats_document(const RunRepeats&);
Json repeats_schema();

}  // namespace trainyard
