// Predicted against measured: every row that a prediction was held against as a point on
// logarithmic axes, around the diagonal on which both agree; beside it how far off the rows of each
// source are. A source is told by ink and by shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/validation/validation.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// A row in seconds of a step, or of a layer, or in bytes.
struct ValidationPoint {
  std::string id;
  std::string model, cluster, plan;  // "llama-3-8b", "h100-sxm:64", "tp=8 pp=2 ..."
  std::string note;                  // why it is only shown; empty: it counts
  double measured = 0, predicted = 0, low = 0, high = 0;
  double error = 0;  // predicted over measured, minus one
  std::optional<double> cross_error;
  double weight = 1;  // one over the rows of its group
  std::size_t source = 0;
  bool memory = false;
  bool counts = true;  // trust A or B and clean
};

/// How far off rows are that count, groups weighted equally.
struct ErrorSpread {
  int rows = 0, shown = 0;  // that count; and those that do not
  double median = 0, p90 = 0, inside = 0;
};

struct ValidationSource {
  std::string name, full;  // "foundry", and as the rows have it
  ErrorSpread time, memory;
};

struct ValidationModel {
  std::vector<ValidationPoint> points;    // as in the validation
  std::vector<ValidationSource> sources;  // by median error of time, least first; then memory only
  ErrorSpread time, memory;
  int skipped = 0;  // rows that state too little to be predicted
};
/// The validation must be of these rows.
ValidationModel validation_model(const RowSet&, const Validation&);

/// Items: Dot, tag the point; Legend, tag the source. A selected source stands out, a selected
/// point is ringed.
void draw_validation(Drawing&, const Rect& area, const ValidationModel&, const ViewState&);
Hover describe_validation(const ValidationModel&, Item);
/// What a picture of all sources needs.
Size validation_size(const ValidationModel&);
/// The whole picture at that size.
Drawing validation_picture(const ValidationModel&);
/// "time of 583 rows: median 3.6 %, 90th percentile 13.5 %; memory of ...": the whole in words.
std::string validation_words(const ValidationModel&);

/// A measurement in the unit that it is told in: "4.94 s", "71.7 GiB".
std::string measure_text(double value, bool memory);
/// What was predicted, with its band: "4.80 s (4.40 to 5.20)".
std::string predicted_text(const ValidationPoint&);

DataTable validation_table(const ValidationModel&);

}  // namespace trainyard
