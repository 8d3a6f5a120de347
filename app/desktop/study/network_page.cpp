#include "app/desktop/study/network_page.h"

#include <string>
#include <utility>
#include <vector>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/scenario/workspace.h"
#include "visualizers/network/network_view.h"

namespace trainyard {

NetworkPage::NetworkPage(Document& document, QWidget* parent)
    : StudyPage(document, "network", std::make_unique<NetworkMeasurement>(), parent),
      measurement_(static_cast<NetworkMeasurement&>(work())),
      panel_(new NetworkPanel(document, measurement_)) {
  lay_out(panel_,
          {"Links that transfers share", "Links by load over the step, and who waits for whom",
           "Links and waits", "What follows from the simulation"},
          network_scene([this] { return shown_ ? &shown_->use : nullptr; },
                        [this]() -> QString {
                          return measurement_.running()
                                     ? "Simulating …"
                                     : "Simulate, to see which links of the cluster the open plan "
                                       "fills and which transfers wait.";
                        },
                        [this](Item item) { rows().choose(item); }));
  connect(&rows(), &ViewTable::chosen, this, &NetworkPage::choose_row);
  connect(&measurement_, &BackgroundMeasurement::changed, this, &NetworkPage::refresh);
  add_command("network");
  ask_by(*panel_);
  refresh();
}

void NetworkPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  note_question();
  measurement_.start<NetworkQuestion>(
      panel_->question(), [request = *request](const NetworkQuestion& question) {
        const Scenario scenario = open(request);
        expect_switches_that_add_up(scenario.cluster, question.options);
        const ExperimentPtr alone = simulate(scenario, {.fixes = false});
        return over_network(*alone, question.options, nullptr, question.stop);
      });
}

void NetworkPage::choose_row(Item item) {
  scene().select(item);
  canvas()->refresh();
}

std::optional<Drawing> NetworkPage::picture() const {
  return shown_ ? std::optional(network_picture(shown_->use)) : std::nullopt;
}

std::optional<DataTable> NetworkPage::table() const {
  return shown_ ? std::optional(network_table(shown_->use)) : std::nullopt;
}

void NetworkPage::refresh() {
  if (const auto found = measurement_.found(); found != shown_) {
    shown_ = found;
    scene().select({});
    rows().show_table(network_table(shown_->use));
    rows().fit_columns();
  }
  say(shown_ ? network_sentences(shown_->use) : std::vector<std::string>{});
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
