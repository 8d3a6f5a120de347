// The operators of a layer on the cores of a machine, in stages: one after another, greedy and best
// beneath each other on one axis of time. The operators lie where they are predicted to run; those
// that run as one are one underlined box that names them. A line says when each schedule ended when
// it was run.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/op.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct StagedOperator {
  int op = 0;  // index into StagesModel::operators
  int core = 0;
  int stage = 0;
  Instant start{}, end{};  // predicted
};

struct StagedSchedule {
  std::string name;  // "best"
  int cores = 1;     // that have any operator
  int stages = 1;
  Duration predicted{}, measured{};  // measured 0 = it was not run
  std::vector<StagedOperator> operators;
  std::vector<Instant> ends;  // of each stage with its join, predicted
};

struct StagesModel {
  struct Operator {
    std::string name;
    Pass pass = Pass::Forward;
    std::vector<int> parts = {};  // operators that run as this one, where several do
  };
  std::string title;  // "Backward of mixed"
  std::vector<Operator> operators;
  std::vector<StagedSchedule> schedules;  // the first is what the others are compared with
};

/// Items: Span, an operator in a schedule. A selected one is framed in all schedules, and
/// so is one that runs it together with others.
void draw_stages(Drawing&, const Rect& area, const StagesModel&, const ViewState&);
/// "one after another: predicted 1.2 ms, measured 1.3 ms; best: ...".
std::string stages_words(const StagesModel&);
Hover describe_stages(const StagesModel&, Item);
/// A row for each operator of each schedule.
DataTable stages_table(const StagesModel&);
/// For a file.
Drawing stages_picture(const StagesModel&);

}  // namespace trainyard
