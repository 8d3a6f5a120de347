#include "app/desktop/study/gate_page.h"

#include <QHBoxLayout>

#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/gate_json.h"

namespace trainyard {

GatePage::GatePage(Document& document, QWidget* parent)
    : StudyPage(document, "gate", std::make_unique<GateMeasurement>(), parent),
      measurement_(static_cast<GateMeasurement&>(work())),
      panel_(new GatePanel(document, measurement_)),
      listed_(new Segment("Which rows are listed", {"Tasks", "Tensors"})) {
  lay_out(panel_,
          {"Answers that one model alone has right",
           "Answers that one model alone has right, by model and task", "Tasks of the gate",
           "Who passes the gate"},
          std::make_unique<ChartScene>(ChartOf<GateCharts>{
              [this] { return charts_ ? &*charts_ : nullptr; },
              [](Drawing& drawing, const Rect& area, const GateCharts& charts, const ViewState&) {
                draw_gate(drawing, area, charts);
              },
              describe_gate, [](const GateCharts& charts) { return q(gate_words(charts)); },
              [this]() -> QString {
                return measurement_.running()
                           ? "Asking …"
                           : "Ask, to see what models that lost weights, bits or formats "
                             "answer otherwise than a checkpoint does.";
              }}));
  listed_->set_current(0);
  listed_->hide();
  bar().row()->addWidget(listed_);
  connect(listed_, &Segment::chosen, this, &GatePage::show_rows);
  add_command("gate");
  ask_by(*panel_);
  connect(&measurement_, &BackgroundMeasurement::changed, this, &GatePage::refresh);
  refresh();
}

void GatePage::connect_commands(const Actions& actions) {
  connect_runs(actions, "gate", [this] { start(); });
}

void GatePage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  note_question();
  measurement_.start<GateQuestion>(
      panel_->question(),
      [request = *request, rates = panel_->words().error_rates](const GateQuestion& question) {
        GateQuestion opened = question;
        const Place place{"Rates of bit errors"};
        if (!rates.empty())
          opened.models = at_error_rates(opened.models, read_error_rates(rates, place), place);
        opened.scenario = open(request);
        if (opened.corruptions.empty())
          opened.corruptions = usual_corruptions(opened.scenario.model);
        return gate_study(opened);
      });
}

QString GatePage::blocks(const std::string& model) const {
  if (shown_ == nullptr || shown_->model != model || !panel_->blocks_export()) return {};
  return q(reason_to_block(*shown_));
}

std::optional<Drawing> GatePage::picture() const {
  return shown_ != nullptr ? std::optional(gate_picture(*shown_)) : std::nullopt;
}

std::optional<DataTable> GatePage::table() const {
  return shown_ != nullptr ? std::optional(rows().table()) : std::nullopt;
}

std::optional<std::string> GatePage::document() const {
  return shown_ != nullptr ? std::optional(write_json(gate_fields().write(*shown_))) : std::nullopt;
}

void GatePage::show_rows() {
  rows().show_table(listed_->current() == 0 ? gate_table(*shown_) : lossless_table(*shown_));
  rows().fit_columns();
}

void GatePage::refresh() {
  const auto found = measurement_.found();
  if (found.get() != shown_) {
    shown_ = found.get();
    charts_ = gate_charts(*shown_);
    listed_->setVisible(!shown_->tensors.empty());
    if (shown_->tensors.empty()) listed_->set_current(0);
    show_rows();
    scene().select({});
  }
  say(shown_ == nullptr ? std::vector<std::string>{} : gate_sentences(*shown_));
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
