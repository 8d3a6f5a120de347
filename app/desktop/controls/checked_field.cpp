#include "app/desktop/controls/checked_field.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include <optional>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

void expect_whole(const std::string& text, std::int64_t low, std::int64_t high) {
  std::optional<std::int64_t> number;
  try {
    number = parse_integer(text);
  } catch (const Error&) {  // said below, with the range
  }
  if (!number || *number < low || *number > high)
    throw Error(Error::Kind::InvalidInput, "expected a whole number from " + std::to_string(low) +
                                               " to " + std::to_string(high) + ", found \"" +
                                               text.substr(0, 40) + "\"");
}

}  // namespace

CheckedField::CheckedField(const Kind& kind, QWidget* parent)
    : QWidget(parent), kind_(kind), edit_(new QLineEdit) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label(kind.title, 12, QFont::Normal, "second"));
  row->addStretch(1);
  edit_->setAccessibleName(kind.title);
  edit_->setPlaceholderText(kind.usual);
  edit_->setAlignment(Qt::AlignRight);
  edit_->setFixedSize(kind.width, kFieldHeight);
  row->addWidget(edit_);
  column->addLayout(row);
  refusal_ = make_label("", 11, QFont::Normal, "error");
  refusal_->setTextFormat(Qt::PlainText);
  refusal_->setWordWrap(true);
  refusal_->setAccessibleName("What is wrong with " + kind.title.toLower());
  refusal_->hide();
  column->addWidget(refusal_);
  connect(edit_, &QLineEdit::textEdited, this, [this] {
    check();
    Q_EMIT changed();
  });
}

std::string CheckedField::text() const { return edit_->text().trimmed().toStdString(); }

void CheckedField::set_usual(const QString& usual) { edit_->setPlaceholderText(usual); }

bool CheckedField::check() {
  refuse({});
  if (text().empty()) return true;
  try {
    kind_.check(text());
  } catch (const Error& error) {
    refuse(q(error.what()));
    return false;
  }
  return true;
}

void CheckedField::refuse(const QString& sentence) {
  refusal_->setText(sentence);
  refusal_->setVisible(!sentence.isEmpty());
  set_tone(edit_, sentence.isEmpty() ? "" : "error");
}

QString CheckedField::refusal() const { return refusal_->text(); }

std::function<void(const std::string&)> whole_check(std::int64_t low, std::int64_t high) {
  return [low, high](const std::string& text) { expect_whole(text, low, high); };
}

std::int64_t whole_or(const CheckedField& field, std::int64_t usual) {
  return field.text().empty() ? usual : parse_integer(field.text());
}

std::function<void(const std::string&)> number_check(double low, double high) {
  return [low, high](const std::string& text) {
    const auto number = number_of<double>(text);
    if (!number || !(*number >= low && *number <= high))
      trainyard::refuse("expected a number from " + to_text(low) + " to " + to_text(high) +
                        ", found \"" + text.substr(0, 40) + "\"");
  };
}

double number_or(const CheckedField& field, double usual) {
  return number_of<double>(field.text()).value_or(usual);
}

}  // namespace trainyard
