#include "app/desktop/study/sharpness_page.h"

#include <QHBoxLayout>

#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"
#include "app/workspace/runs/sharpness/sharpness_document.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {

SharpnessPage::SharpnessPage(Document& document, QWidget* parent)
    : StudyPage(document, "sharpness", std::make_unique<SharpnessMeasurement>(), parent),
      measurement_(static_cast<SharpnessMeasurement&>(work())),
      panel_(new SharpnessPanel(document, measurement_)),
      which_(new Segment("What is drawn", {"Loss", "Stable rates"})) {
  lay_out(panel_,
          {"Curvature of the loss", "Loss along two lines, or stable rates", "Stable rates",
           "What follows from the sharpness"},
          curve_scene([this] { return curve_ ? &*curve_ : nullptr; },
                      [this]() -> QString {
                        return measurement_.running()
                                   ? "Measuring …"
                                   : "Measure, to see how sharply the loss of the open plan bends "
                                     "and which rates that leaves stable.";
                      }));
  which_->set_current(0);
  bar().row()->addWidget(which_);
  add_command("sharpness");
  ask_by(*panel_);
  connect(which_, &Segment::chosen, this,
          [this](int index) { show_picture(static_cast<SharpnessPicture>(index)); });
  connect(&measurement_, &BackgroundMeasurement::changed, this, &SharpnessPage::refresh);
  refresh();
}

void SharpnessPage::connect_commands(const Actions& actions) {
  connect_runs(actions, "sharpness", [this] { start(); });
}

void SharpnessPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  note_question();
  measurement_.start<SharpnessQuestion>(panel_->question(),
                                        [request = *request](const SharpnessQuestion& question) {
                                          SharpnessQuestion opened = question;
                                          opened.scenario = open(request);
                                          return sharpness_study(std::move(opened));
                                        });
}

void SharpnessPage::show_picture(SharpnessPicture picture) {
  picture_ = picture;
  which_->set_current(static_cast<int>(picture));
  if (shown_ != nullptr)
    curve_ = picture == SharpnessPicture::Loss ? slice_curve(*shown_) : stable_rates_curve(*shown_);
  scene().select({});
  canvas()->refresh();
}

std::optional<Drawing> SharpnessPage::picture() const {
  return shown_ != nullptr ? std::optional(sharpness_picture(*shown_)) : std::nullopt;
}

std::optional<DataTable> SharpnessPage::table() const {
  return shown_ != nullptr ? std::optional(sharpness_table(*shown_)) : std::nullopt;
}

std::optional<std::string> SharpnessPage::document() const {
  return shown_ != nullptr ? std::optional(sharpness_document(*shown_)) : std::nullopt;
}

void SharpnessPage::refresh() {
  const auto found = measurement_.found();
  if (found.get() != shown_) {
    shown_ = found.get();
    rows().show_table(sharpness_table(*shown_));
    rows().fit_columns();
    show_picture(picture_);
  }
  say(shown_ == nullptr ? std::vector<std::string>{} : sharpness_sentences(*shown_));
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
