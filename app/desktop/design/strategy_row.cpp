#include "app/desktop/design/strategy_row.h"

#include <QGridLayout>
#include <QLabel>
#include <QResizeEvent>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/methods/catalogue.h"
#include "core/model/divided_rows.h"
#include "core/plan/spatial_partition.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

// The longest number that a plan may state, of a sequence or a batch.
constexpr const char* kLongestNumber = "1000000000";

double gib(Bytes bytes) { return static_cast<double>(bytes.value) / (1 << 30); }

// The titles' column, so that the controls of all rows stand in one line.
int title_width() {
  int width = 0;
  for (const Setting& setting : settings())
    if (is_principal(setting.key))
      width =
          std::max(width, QFontMetrics(ui_font(12)).horizontalAdvance(setting_title(setting.key)));
  return width + 2;
}

QString colour_name(Ink ink) { return qcolor(ink, current_theme()).name(); }

}  // namespace

bool is_principal(std::string_view key) {
  constexpr std::string_view kPrincipal[] = {
      "tp",           "pp",  "dp",       "cp",   "virtual-stages", "micro-batch",
      "global-batch", "seq", "schedule", "zero", "recompute",      "precision"};
  return std::find(std::begin(kPrincipal), std::end(kPrincipal), key) != std::end(kPrincipal);
}

QStringList setting_words(const Setting& setting) {
  QStringList words;
  for (std::string_view value : setting.values) words << q(value);
  if (setting.key == "optimizer")
    for (const Optimizer& o : optimizers()) words << q(o.name);
  return words;
}

StrategyRow::StrategyRow(const Setting& setting, Session& session, QWidget* parent)
    : QWidget(parent), setting_(setting), session_(session) {
  setAttribute(Qt::WA_StyledBackground);
  const QString title = setting_title(setting.key);
  title_ = make_label(title, 12, QFont::Normal);
  title_->setToolTip(q(setting.doc) + "\nIn files and on the command line: " + q(setting.key));
  doc_ = make_label("", 11, QFont::Normal, "third");
  next_ = new ElidedLabel(11, "second");
  step_ = make_label("", 12, QFont::Normal);
  peak_ = make_label("", 12, QFont::Normal);
  // Two settings may offer the same word, so that its figures say whose they are.
  step_->setAccessibleName(title + ": change of the step");
  peak_->setAccessibleName(title + ": change of the peak");
  detail_ = make_label("", 11, QFont::Normal, "second");
  detail_->setTextFormat(Qt::RichText);
  doc_->setTextFormat(Qt::RichText);
  doc_->setWordWrap(true);
  detail_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  step_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  peak_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  if (const QStringList words = setting_words(setting); !words.isEmpty()) {
    field_ = new Field(title);
    field_->addItems(words);
    control_ = field_;
    connect(field_, &QComboBox::textActivated, this,
            [this](const QString& word) { Q_EMIT changed(key(), word); });
  } else {
    stepper_ = new Stepper(title);
    control_ = stepper_;
    connect(stepper_, &Stepper::stepped, this, &StrategyRow::step);
    connect(stepper_, &Stepper::entered, this,
            [this](const QString& text) { Q_EMIT changed(key(), text); });
  }
  explained_ = title_->toolTip();
  control_->setToolTip(explained_);
  detail_->setFixedHeight(ui_pixels(18));  // the same while it is empty, or has a sign
  new QGridLayout(this);
  step_->setMinimumWidth(36);
  peak_->setMinimumWidth(50);
  set_detailed(false);
}

QString StrategyRow::key() const { return q(setting_.key); }

void StrategyRow::set_detailed(bool on) {
  detailed_ = on;
  auto* grid = static_cast<QGridLayout*>(layout());
  while (QLayoutItem* item = grid->takeAt(0)) delete item;
  grid->setContentsMargins(12, on ? 7 : 2, on ? 12 : 6, on ? 7 : 2);
  grid->setHorizontalSpacing(5);
  grid->setVerticalSpacing(3);
  grid->addWidget(title_, 0, 0);
  if (on) {
    grid->addWidget(control_, 0, 1, 1, 4, Qt::AlignRight);
    grid->addWidget(doc_, 1, 0, 1, 5);
    grid->addWidget(detail_, 2, 0, 1, 5);
  } else {
    grid->addWidget(control_, 0, 1, Qt::AlignLeft);
    grid->addWidget(next_, 0, 2);
    grid->addWidget(step_, 0, 3);
    grid->addWidget(peak_, 0, 4);
  }
  grid->setColumnStretch(2, 1);
  fit_control();
  for (QWidget* part : std::initializer_list<QWidget*>{doc_, detail_}) part->setVisible(on);
  for (QWidget* part : std::initializer_list<QWidget*>{next_, step_, peak_}) part->setVisible(!on);
  title_->setFont(ui_font(12, on ? QFont::DemiBold : QFont::Normal));
  refresh_effects();
}

// Fields and steppers of a compact panel are equally wide; what is not a number takes more.
void StrategyRow::fit_control() {
  static_cast<QGridLayout*>(layout())->setColumnMinimumWidth(0, title_width());
  const int width = Stepper::width_for(kLongestNumber);
  bool number = false;
  value_.toLongLong(&number);
  const bool words = stepper_ == nullptr || !number;
  control_->setFixedWidth(detailed_ && words ? std::max(width, ui_pixels(150)) : width);
}

void StrategyRow::mark(const QString& fault) {
  set_tone(control_, fault.isEmpty() ? "" : "error");
  control_->update();
  control_->setAccessibleDescription(fault);
  control_->setToolTip(fault.isEmpty() ? explained_ : fault);
}

void StrategyRow::set_value(const QString& value, bool derived) {
  value_ = value;
  fit_control();  // also after a change of scale
  doc_->setText(meaning());
  doc_->setToolTip(paper());
  if (field_ != nullptr) {
    if (field_->findText(value) < 0 && !value.isEmpty()) field_->addItem(value);
    field_->setCurrentText(value);
  } else {
    stepper_->set_value(value);
    bool number = false;
    const qlonglong n = value.toLongLong(&number);
    // A derived value has steps too, because another degree can balance them.
    stepper_->set_steps(number && n > 1, number);
    explained_ = title_->toolTip() + (derived ? "\nFollows from the other degrees." : "");
    stepper_->setToolTip(explained_);
  }
}

const Method* StrategyRow::method() const {
  if (setting_.key == "tp") return find_method("tensor-parallel");
  if (setting_.key == "cp")
    return find_method(session_.experiment() &&
                               has_divisible_rows(session_.experiment()->workload.scenario.model)
                           ? kSpatialPartition
                           : "context-parallel");
  if (setting_.key == "ep" || setting_.key == "etp") return find_method("expert-parallel");
  if (setting_.key == "zero" || setting_.key == "recompute" || setting_.key == "overlap")
    return find_method(setting_.key);
  return find_method(value_.toStdString());
}

// For a method: what it gains and costs, and when it is legal; otherwise what the setting means.
QString StrategyRow::meaning() const {
  const Method* now = method();
  if (now == nullptr) return q(setting_.doc).toHtmlEscaped();
  const auto line = [](const char* name, std::string_view text) {
    return QString("%1 <span style='color:%2'>%3</span>")
        .arg(name, colour_name(Ink::Text2), q(text).toHtmlEscaped());
  };
  QStringList lines = {line("Gains:", now->card.gains), line("Costs:", now->card.costs)};
  if (!now->card.legal_when.empty()) lines << line("Legal:", now->card.legal_when);
  return lines.join("<br>");
}

// The paper that introduced the method.
QString StrategyRow::paper() const {
  const Method* now = method();
  if (now == nullptr) return "";
  return QString("%1: %2. %3, %4")
             .arg(q(now->name), q(now->paper.title), q(now->paper.authors), q(now->paper.venue)) +
         (now->paper.year > 0 ? " " + QString::number(now->paper.year) : QString());
}

void StrategyRow::step(int direction) {
  bool number = false;
  const qlonglong n = value_.toLongLong(&number);
  if (!number) return;
  const qlonglong next = direction > 0 ? 2 * n : n % 2 == 0 ? n / 2 : n - 1;
  if (next >= 1) Q_EMIT changed(key(), QString::number(next));
}

QString StrategyRow::effect_html(const NeighbourPlan& n, int width) const {
  const QString value = QString::fromStdString(n.value);
  if (!n.legal) {
    const QFontMetrics metrics(ui_font(11));
    const QString blocked = value + QString::fromUtf8(" ⊘ ");
    return QString("<span style='color:%1'>%2%3</span>")
        .arg(colour_name(Ink::Text3), blocked.toHtmlEscaped(),
             metrics
                 .elidedText(n.why_not, Qt::ElideRight, width - metrics.horizontalAdvance(blocked))
                 .toHtmlEscaped());
  }
  const Duration now = session_.experiment()->result.step.value;
  const QString peak = QString::fromStdString(format_bytes(n.peak));
  return QString("<b>%1</b> %2 %3, ")
             .arg(value.toHtmlEscaped(), step_change(now, n.step), unit_of(now).name) +
         (n.fits
              ? peak
              : QString("<span style='color:%1'>⚠ %2</span>").arg(colour_name(Ink::Error), peak));
}

void StrategyRow::show_neighbour(const NeighbourPlan& n) {
  const Result& now = session_.experiment()->result;
  next_->setText(QString::fromStdString(n.value));
  next_->setToolTip(next_->text());
  if (!n.legal) {
    step_->setText("");
    peak_->setText(QString::fromUtf8("⊘ blocked"));
    set_tone(peak_, "third");
    peak_->setToolTip(n.why_not);
    return;
  }
  step_->setText(step_change(now.step.value, n.step));
  peak_->setText((n.fits ? QString() : QString::fromUtf8("⚠ ")) +
                 QString::fromStdString(format_signed(gib(n.peak) - gib(worst_peak(now)), 1)));
  set_tone(peak_, n.fits ? "" : "error");
  peak_->setToolTip(n.fits ? QString() : "does not fit");
}

void StrategyRow::show_both(const NeighbourPlan* down, const NeighbourPlan* up) {
  const int gap = ui_pixels(16), parts = (down != nullptr) + (up != nullptr);
  if (parts == 0) return;
  const int each = (contentsRect().width() - ui_pixels(24) - gap * (parts - 1)) / parts;
  QStringList texts, reasons;
  for (const NeighbourPlan* n : {down, up}) {
    if (n == nullptr) continue;
    texts << effect_html(*n, each);
    if (!n->legal) reasons << QString::fromStdString(n->value) + ": " + n->why_not;
  }
  detail_->setText(texts.join("&nbsp;&nbsp;&nbsp;&nbsp;"));
  detail_->setToolTip(reasons.join("\n"));
}

void StrategyRow::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (detailed_ && event->size().width() != event->oldSize().width()) refresh_effects();
}

void StrategyRow::refresh_effects() {
  next_->clear();
  step_->clear();
  peak_->clear();
  detail_->clear();
  if (!session_.experiment() || session_.stale()) return;
  const Steps steps = steps_of(setting_, session_.experiment()->workload.scenario.plan);
  const NeighbourPlan* down = session_.neighbour(setting_.key, steps.down);
  const NeighbourPlan* up = session_.neighbour(setting_.key, steps.up);
  if (up != nullptr || down != nullptr) show_neighbour(up != nullptr ? *up : *down);
  show_both(down, up);
  if (setting_.key == "dp") {
    peak_->setText("derived");
    set_tone(peak_, "third");
  }
}

}  // namespace trainyard
