#include "app/desktop/analyse/energy_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

class EnergyPage::CostScene : public Scene {
 public:
  explicit CostScene(EnergyPage& page) : page_(page) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    if (page_.session_.data() != nullptr) last_ = page_.draw(size, scale);
    return last_;
  }

  bool input(const InputFrame& frame) override {
    if (!frame.pressed[0]) return false;
    page_.state_.selected = hit(last_, frame.at);
    return true;
  }

  QString tooltip(Point p) override {
    if (page_.session_.data() == nullptr) return {};
    const Hover hover =
        describe_energy(page_.session_.data()->energy(), page_.state_, hit(last_, p));
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    if (page_.session_.data() == nullptr) return "Energy. Nothing has been simulated yet.";
    QString text = "Energy and money.";
    for (const EnergyCost& cost : energy_costs(page_.session_.data()->energy(), page_.state_)) {
      text += " " + QString::fromStdString(cost.name) + ":";
      if (cost.energy) text += " " + QString::fromStdString(band_text(*cost.energy).text());
      if (cost.money)
        text += ", " + QString::fromStdString(band_number(*cost.money, "dollars").text());
      text += ".";
    }
    return text;
  }

 private:
  EnergyPage& page_;
  Drawing last_{Size{}};
};

EnergyPage::EnergyPage(Session& session, QWidget* parent) : ViewPage(session, "energy", parent) {
  auto* bar = new Header("What it draws and costs");
  const auto add = [&](const QString& words, QLineEdit* edit) {
    bar->row()->addWidget(make_label(words, 11, QFont::Normal, "third"));
    bar->row()->addWidget(edit);
    connect(edit, &QLineEdit::editingFinished, this, &EnergyPage::take);
  };
  budget_ = field("Tokens or samples of the training", "", 80);
  budget_->setText("1 T");
  price_ = field("US dollars of a device hour", "catalogue", 72);
  overhead_ = field("Overhead of the building, PUE", "1.0", 48);
  add("tokens", budget_);
  add("$ a device hour", price_);
  add("PUE", overhead_);
  lay_out(bar, "Energy and money", std::make_unique<CostScene>(*this));
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
  state_.overhead = read(overhead_, 1, 10).value_or(1);
  refresh();
}

Drawing EnergyPage::draw(Size size, double) const {
  Drawing drawing(size);
  draw_energy(drawing, {0, 0, size.width, size.height}, session_.data()->energy(), state_);
  return drawing;
}

std::optional<DataTable> EnergyPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return energy_table(session_.data()->energy(), state_);
}

void EnergyPage::choose(Item item) {
  state_.selected = item;
  refresh();
}

}  // namespace trainyard
