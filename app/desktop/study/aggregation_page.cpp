#include "app/desktop/study/aggregation_page.h"

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/scenario/shared_cluster_document.h"

namespace trainyard {

AggregationPage::AggregationPage(Document& document, QWidget* parent)
    : StudyPage(document, "jobs", std::make_unique<AggregationMeasurement>(), parent),
      measurement_(static_cast<AggregationMeasurement&>(work())),
      panel_(new AggregationPanel(document, measurement_)) {
  lay_out(
      panel_,
      {"Jobs that share a network", "Steps of jobs, and within which times short flows complete",
       "Ways to reduce", "What follows from the study"},
      std::make_unique<ChartScene>(ChartOf<SharedClusterModel>{
          [this] { return drawn_ ? &*drawn_ : nullptr; },
          [](Drawing& drawing, const Rect& area, const SharedClusterModel& model,
             const ViewState&) { draw_shared_cluster(drawing, area, model); },
          describe_shared_cluster,
          [](const SharedClusterModel& model) { return q(shared_cluster_words(model)); },
          [this]() -> QString {
            return measurement_.running()
                       ? "Simulating …"
                       : "Simulate, to see what jobs and short flows gain where switches add "
                         "up gradients instead of rings.";
          }}));
  add_command("jobs");
  ask_by(*panel_);
  connect(&measurement_, &BackgroundMeasurement::changed, this, &AggregationPage::refresh);
  refresh();
}

void AggregationPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  note_question();
  measurement_.start<SharedClusterAsked>(panel_->question(), study_shared_cluster);
}

std::optional<Drawing> AggregationPage::picture() const {
  return shown_ ? std::optional(shared_cluster_picture(*shown_)) : std::nullopt;
}

std::optional<DataTable> AggregationPage::table() const {
  return shown_ ? std::optional(shared_cluster_table(*shown_)) : std::nullopt;
}

std::optional<std::string> AggregationPage::document() const {
  return shown_ ? std::optional(shared_cluster_document(*shown_)) : std::nullopt;
}

void AggregationPage::refresh() {
  if (const auto found = measurement_.found(); found != shown_) {
    shown_ = found;
    drawn_ = shared_cluster_model(*shown_);
    scene().select({});
    rows().show_table(shared_cluster_table(*shown_));
    rows().fit_columns();
  }
  say(shown_ ? shared_cluster_sentences(*shown_) : std::vector<std::string>{});
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
