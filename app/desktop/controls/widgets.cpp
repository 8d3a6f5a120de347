#include "app/desktop/controls/widgets.h"

#include <QButtonGroup>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPainter>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"

namespace trainyard {

Field::Field(const QString& accessible_name, QWidget* parent) : QComboBox(parent) {
  setAccessibleName(accessible_name);
  setFixedHeight(kFieldHeight);
  setFocusPolicy(Qt::StrongFocus);
}

void Field::paintEvent(QPaintEvent*) {
  const Theme theme = current_theme();
  QPainter p(this);
  p.setRenderHint(QPainter::Antialiasing);
  const bool wrong = property("tone").toString() == "error";
  p.setPen(qcolor(wrong ? Ink::Error : hasFocus() ? Ink::Accent : Ink::BorderStrong, theme));
  p.setBrush(qcolor(Ink::Input, theme));
  p.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  p.setPen(qcolor(isEnabled() ? Ink::Text : Ink::Text3, theme));
  p.setFont(font());
  const QRect text = rect().adjusted(8, 0, -22, 0);
  p.drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
             fontMetrics().elidedText(currentText(), Qt::ElideRight, text.width()));
  draw_icon(p, "chevron-down", QRectF(width() - 19, height() / 2.0 - 7, 14, 14),
            qcolor(Ink::Text2, theme));
}

void Field::wheelEvent(QWheelEvent* event) { event->ignore(); }

Stepper::Stepper(const QString& accessible_name, QWidget* parent) : QWidget(parent) {
  setObjectName("stepper");
  setAttribute(Qt::WA_StyledBackground);
  setFixedHeight(ui_pixels(kFieldHeight));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(1, 1, 1, 1);
  row->setSpacing(0);
  const auto button = [&](const QString& name, const QString& spoken, int direction) {
    auto* b = new QToolButton;
    b->setText(name);
    b->setFixedSize(ui_pixels(18), ui_pixels(20));
    b->setAccessibleName(accessible_name + ", " + spoken);
    connect(b, &QToolButton::clicked, this, [this, direction] { Q_EMIT stepped(direction); });
    return b;
  };
  minus_ = button(QString(QChar(0x2212)), "one step down", -1);
  plus_ = button("+", "one step up", +1);
  edit_ = new QLineEdit;
  edit_->setAlignment(Qt::AlignCenter);
  edit_->setAccessibleName(accessible_name);
  edit_->setMinimumWidth(28);
  row->addWidget(minus_);
  row->addWidget(edit_, 1);
  row->addWidget(plus_);
  setFocusProxy(edit_);
  connect(edit_, &QLineEdit::editingFinished, this, &Stepper::commit);
}

void Stepper::set_value(const QString& value) {
  shown_ = value;
  if (edit_->text() == value) return;
  edit_->setText(value);
  edit_->setCursorPosition(0);  // what does not fit is cut at its end
}

int Stepper::width_for(const QString& text) {
  // Beside the text: two buttons, frames, padding, and the margin that a line edit keeps.
  return QFontMetrics(ui_font(12, QFont::DemiBold)).horizontalAdvance(text) +
         ui_pixels(2 * 18 + 2 + 12);
}

QString Stepper::value() const { return edit_->text(); }

void Stepper::set_steps(bool down, bool up) {
  minus_->setEnabled(down);
  plus_->setEnabled(up);
}

void Stepper::commit() {
  const QString typed = edit_->text().trimmed();
  if (typed == shown_) return;
  shown_ = typed;
  Q_EMIT entered(typed);
}

Segment::Segment(const QString& accessible_name, const QStringList& words, QWidget* parent)
    : QWidget(parent), group_(new QButtonGroup(this)) {
  setObjectName("segment");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName(accessible_name);
  setFixedHeight(ui_pixels(26));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(1, 1, 1, 1);
  row->setSpacing(0);
  for (int i = 0; i < words.size(); ++i) {
    auto* b = new QToolButton;
    b->setText(words[i]);
    b->setCheckable(true);
    b->setAccessibleName(words[i]);
    b->setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Expanding);
    group_->addButton(b, i);
    row->addWidget(b);
  }
  group_->setExclusive(true);
  connect(group_, &QButtonGroup::idClicked, this, &Segment::chosen);
}

void Segment::set_current(int index) {
  if (QAbstractButton* b = group_->button(index)) b->setChecked(true);
}

int Segment::current() const { return group_->checkedId(); }

void set_tone(QWidget* widget, const char* tone) {
  if (widget->property("tone").toString() == QLatin1String(tone)) return;
  widget->setProperty("tone", tone);
  widget->style()->unpolish(widget);
  widget->style()->polish(widget);
}

QLabel* make_label(const QString& text, double pixels, QFont::Weight weight, const char* tone) {
  auto* label = new QLabel(text);
  label->setFont(ui_font(pixels, weight));
  label->setProperty("tone", tone);
  return label;
}

QLabel* make_chip(const QString& text, const char* tone) {
  auto* chip = make_label(text, 11, QFont::Medium, tone);
  chip->setProperty("role", "chip");
  return chip;
}

QLabel* make_key(const QString& text) {
  auto* key = new QLabel(text);
  key->setFont(code_font(10));
  key->setProperty("role", "key");
  key->setFixedHeight(ui_pixels(16));
  return key;
}

ElidedLabel::ElidedLabel(double pixels, const char* tone) {
  setFont(ui_font(pixels));
  setProperty("tone", tone);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

bool ElidedLabel::event(QEvent* event) {
  const bool cut = fontMetrics().horizontalAdvance(text()) > width();
  if (event->type() != QEvent::ToolTip || !toolTip().isEmpty() || !cut) return QLabel::event(event);
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
  return true;
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.setPen(palette().color(foregroundRole()));
  p.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft,
             fontMetrics().elidedText(text(), Qt::ElideRight, width()));
}

Header::Header(const QString& title) : row_(new QHBoxLayout(this)) {
  setObjectName("header");
  setAttribute(Qt::WA_StyledBackground);
  setFixedHeight(kTitleHeight);
  row_->setContentsMargins(10, 0, 8, 0);
  row_->setSpacing(8);
  if (!title.isEmpty()) row_->addWidget(make_label(title, 11, QFont::DemiBold));
  row_->addStretch(1);
}

QSize Header::sizeHint() const { return {QWidget::sizeHint().width(), minimumHeight()}; }

QHBoxLayout* add_bar(QVBoxLayout* column) {
  auto* bar = new QWidget;
  bar->setObjectName("header");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(kTitleHeight);
  column->addWidget(bar);
  return new QHBoxLayout(bar);
}

std::pair<QWidget*, QVBoxLayout*> make_panel(int width, int spacing) {
  auto* panel = new QWidget;
  panel->setObjectName("panel");
  panel->setAttribute(Qt::WA_StyledBackground);
  panel->setFixedWidth(width);
  auto* column = new QVBoxLayout(panel);
  column->setContentsMargins(12, 8, 12, 8);
  column->setSpacing(spacing);
  return {panel, column};
}

QDialogButtonBox* add_closing_row(QDialog* dialog, QVBoxLayout* column) {
  auto* row = new QDialogButtonBox(QDialogButtonBox::Close);
  QPushButton* const close = row->button(QDialogButtonBox::Close);
  close->setAccessibleName("Close");
  close->setIcon({});
  QObject::connect(row, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  column->addWidget(row);
  return row;
}

QWidget* make_rule(int height) {
  auto* rule = new QFrame;
  rule->setObjectName("rule");
  rule->setFixedSize(1, height);
  return rule;
}

}  // namespace trainyard
