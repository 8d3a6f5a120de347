#include "app/desktop/study/descent_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/halp_document.h"

namespace trainyard {

DescentPage::DescentPage(Document& document, QWidget* parent)
    : StudyPage(document, "descent", std::make_unique<DescentMeasurement>(), parent),
      measurement_(static_cast<DescentMeasurement&>(work())),
      panel_(new DescentPanel(document, measurement_)),
      which_(new Segment("What is drawn", {"Error", "Grid"})) {
  lay_out(panel_,
          {"Descent in few bits", "Error by bits, or grid by round", "Rounds of every descent",
           "What follows from the descents"},
          curve_scene([this] { return curve_ ? &*curve_ : nullptr; },
                      [this]() -> QString {
                        if (measurement_.running()) return "Descending …";
                        if (!shown_)
                          return "Descend, to see how far weights of few bits come, and how their "
                                 "grid shrinks.";
                        return which_->current() == 0
                                   ? "Errors have a curve from two numbers of bits on."
                                   : "The grid has a curve from two rounds on.";
                      }));
  which_->set_current(0);
  bar().row()->addWidget(which_);
  add_command("descents");
  ask_by(*panel_);
  connect(which_, &Segment::chosen, this,
          [this](int index) { show_picture(static_cast<HalpPicture>(index)); });
  connect(&measurement_, &BackgroundMeasurement::changed, this, &DescentPage::refresh);
  refresh();
}

void DescentPage::connect_commands(const Actions& actions) {
  connect_runs(actions, "descent", [this] { start(); });
}

void DescentPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  note_question();
  measurement_.start<HalpQuestion>(panel_->question(), study_halp);
}

void DescentPage::show_picture(HalpPicture picture) {
  which_->set_current(static_cast<int>(picture));
  if (shown_) curve_ = halp_curve(*shown_, picture);
  scene().select({});
  canvas()->refresh();
}

std::optional<Drawing> DescentPage::picture() const {
  return shown_ ? std::optional(halp_picture(*shown_)) : std::nullopt;
}

std::optional<DataTable> DescentPage::table() const {
  return shown_ ? std::optional(halp_table(*shown_)) : std::nullopt;
}

std::optional<std::string> DescentPage::document() const {
  return shown_ ? std::optional(halp_document(*shown_)) : std::nullopt;
}

void DescentPage::refresh() {
  if (const auto found = measurement_.found(); found != shown_) {
    shown_ = found;
    rows().show_table(halp_table(*shown_));
    rows().fit_columns();
    show_picture(static_cast<HalpPicture>(which_->current()));
  }
  say(shown_ ? halp_sentences(*shown_) : std::vector<std::string>{});
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
