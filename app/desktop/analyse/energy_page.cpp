#include "app/desktop/analyse/energy_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "app/desktop/analyse/efficiency_sheet.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

namespace {

class EnergyScene : public ViewScene {
 public:
  /// The state is the page's, which outlives the scene.
  EnergyScene(Session& session, EnergyState& state) : ViewScene(session, "energy"), state_(state) {}

  DataTable rows() const override { return energy_table(data().get<EnergyModel>(), state_); }
  void select(Item item) override { state_.selected = item; }

 protected:
  Drawing paint(Size size, double) const override {
    Drawing drawing(size);
    draw_energy(drawing, whole(size), data().get<EnergyModel>(), state_);
    return drawing;
  }

  bool take(const InputFrame& frame) override {
    if (frame.pressed[0]) state_.selected = hit(last_, frame.at);
    return frame.pressed[0];
  }

  Hover describe(Point p) const override {
    return describe_energy(data().get<EnergyModel>(), state_, hit(last_, p));
  }

  QString words() const override {
    QString text = "Energy and money.";
    for (const EnergyCost& cost : energy_costs(data().get<EnergyModel>(), state_)) {
      text += " " + q(cost.name) + ":";
      if (cost.energy) text += " " + q(band_text(*cost.energy).text());
      if (cost.money) text += ", " + q(band_number(*cost.money, "dollars").text());
      if (cost.carbon) text += ", " + q(carbon_text(*cost.carbon).text());
      text += ".";
    }
    return text;
  }

 private:
  EnergyState& state_;
};

}  // namespace

EnergyPage::EnergyPage(Session& session, QWidget* parent) : ViewPage(session, parent) {
  auto* bar = new Header("Cost");
  const auto add = [&](const QString& words, QLineEdit* edit) {
    bar->row()->addWidget(make_label(words, 11, QFont::Normal, "third"));
    bar->row()->addWidget(edit);
    connect(edit, &QLineEdit::editingFinished, this, &EnergyPage::take);
  };
  budget_ = field("Tokens or samples of the training", "", 80);
  budget_->setText("1 T");
  price_ = field("US dollars per device hour", "catalogue", 72);
  overhead_ = field("Building overhead (PUE)", "cluster", 48);
  region_ = new Field("Region whose electricity it takes");
  region_->addItem("the cluster's", QString());
  for (const Region& one : regions()) region_->addItem(q(one.title), q(one.name));
  add("tokens", budget_);
  add("$ per device hour", price_);
  add("PUE", overhead_);
  bar->row()->addWidget(make_label("region", 11, QFont::Normal, "third"));
  bar->row()->addWidget(region_);
  connect(region_, &QComboBox::activated, this, &EnergyPage::take);
  auto* efficiency = new QPushButton("Efficiency…");
  efficiency->setAccessibleName("Show the efficiency of devices");
  efficiency->setToolTip(
      "What all devices compute for each watt, and the energy of operations and accesses");
  efficiency->setProperty("kind", "small");
  bar->row()->addWidget(efficiency);
  connect(efficiency, &QPushButton::clicked, this, [this, &of = session] {
    const auto& experiment = of.experiment();
    (new EfficiencySheet(experiment ? experiment->workload.scenario.cluster.device.id : "",
                         window()))
        ->open();
  });
  set_scene_under(bar, "Energy and money", std::make_unique<EnergyScene>(session, state_));
}

QLineEdit* EnergyPage::field(const QString& name, const QString& hint, int width) {
  auto* edit = new QLineEdit;
  edit->setAccessibleName(name);
  edit->setToolTip(name);
  edit->setPlaceholderText(hint);
  edit->setFixedSize(width, kFieldHeight);
  return edit;
}

// What cannot be read stays as it was, and its field says so.
void EnergyPage::take() {
  const auto read = [](QLineEdit* edit, double low, double high) -> std::optional<double> {
    const std::optional<double> value =
        parse_budget(edit->text().trimmed().toStdString(), low, high);
    set_tone(edit, value || edit->text().trimmed().isEmpty() ? "" : "error");
    return value;
  };
  if (const auto budget = read(budget_, 1, 1e18)) state_.budget = *budget;
  state_.price = read(price_, 0.0001, 1e6);
  state_.overhead = read(overhead_, 1, kMostOverhead);
  state_.region = region_->currentData().toString().toStdString();
  refresh();
}

}  // namespace trainyard
