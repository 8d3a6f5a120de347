#include "app/desktop/study/placement_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/plans/placement_chart.h"
#include "app/workspace/plans/placement_document.h"

namespace trainyard {

PlacementPage::PlacementPage(Document& document, QWidget* parent)
    : StudyPage(document, "placement", std::make_unique<PlacementMeasurement>(), parent),
      measurement_(static_cast<PlacementMeasurement&>(work())),
      panel_(new PlacementPanel(document, measurement_)),
      which_(new Segment("What is drawn", {"Complementary waves", "Hindsight", "Peaks"})) {
  lay_out(
      panel_,
      {"Jobs on shared nodes", "Nodes over time with their jobs, or peaks by policy",
       "Policies of placement", "What follows from the study"},
      std::make_unique<ChartScene>(ChartOf<ShownPlacement>{
          [this] { return drawn_ ? &*drawn_ : nullptr; },
          [](Drawing& drawing, const Rect& area, const ShownPlacement& shown, const ViewState&) {
            draw_occupancy(drawing, area, shown.model, shown.panel);
          },
          [](const ShownPlacement& shown, Item item) {
            return describe_occupancy(shown.model, shown.panel, item);
          },
          [](const ShownPlacement& shown) { return q(occupancy_words(shown.model, shown.panel)); },
          [this]() -> QString {
            return measurement_.running()
                       ? "Placing …"
                       : "Place, to see how full policies make the nodes that jobs share, and "
                         "what knowing the future would gain.";
          }}));
  which_->set_current(0);
  bar().row()->addWidget(which_);
  add_command("placement");
  ask_by(*panel_);
  connect(which_, &Segment::chosen, this, [this](int index) {
    if (drawn_) drawn_->panel = static_cast<std::size_t>(index);
    scene().select({});
    canvas()->refresh();
  });
  connect(&measurement_, &BackgroundMeasurement::changed, this, &PlacementPage::refresh);
  refresh();
}

void PlacementPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  note_question();
  measurement_.start<PlacementAsked>(panel_->question(), study_placement);
}

std::optional<Drawing> PlacementPage::picture() const {
  return drawn_ ? std::optional(occupancy_picture(drawn_->model)) : std::nullopt;
}

std::optional<DataTable> PlacementPage::table() const {
  return shown_ ? std::optional(placement_table(*shown_)) : std::nullopt;
}

std::optional<std::string> PlacementPage::document() const {
  return shown_ ? std::optional(placement_document(*shown_)) : std::nullopt;
}

void PlacementPage::refresh() {
  if (const auto found = measurement_.found(); found != shown_) {
    shown_ = found;
    drawn_ = {occupancy_model(*shown_), static_cast<std::size_t>(which_->current())};
    scene().select({});
    rows().show_table(placement_table(*shown_));
    rows().fit_columns();
    std::vector<std::string> told = {placement_bound(*shown_)};
    for (const auto& sentences : {verdict_sentences(*shown_), unlearnable_sentences(*shown_)})
      told.insert(told.end(), sentences.begin(), sentences.end());
    say(told);
  }
  if (!shown_) say({});
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
