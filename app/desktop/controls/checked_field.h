// A CheckedField is a line of a form: its name, a field of text, and under them why the text is
// refused.
#pragma once

#include <QString>
#include <QWidget>

#include <cstdint>
#include <functional>
#include <string>

class QLabel;
class QLineEdit;

namespace trainyard {

class CheckedField : public QWidget {
  Q_OBJECT

 public:
  struct Kind {
    QString title;
    QString usual;  // shown while the field is empty, which stands for it
    /// Throws Error for text that is refused, and is never asked about an empty field.
    std::function<void(const std::string&)> check;
    int width = 104;  // px of the field
  };
  explicit CheckedField(const Kind&, QWidget* parent = nullptr);

  /// Returns what is typed, without spaces around it; empty: the usual.
  std::string text() const;
  void set_usual(const QString&);
  /// Checks the text again. Returns false and shows the sentence where it is refused.
  bool check();
  /// Shows the sentence under the field; empty: none.
  void refuse(const QString& sentence);
  QString refusal() const;

 Q_SIGNALS:
  void changed();  // the user typed

 private:
  Kind kind_;
  QLineEdit* edit_;
  QLabel* refusal_;
};

/// Refuses what is no whole number in [low, high].
std::function<void(const std::string&)> whole_check(std::int64_t low, std::int64_t high);
/// The whole number that is typed, or the usual one where nothing is.
std::int64_t whole_or(const CheckedField&, std::int64_t usual);
/// Refuses what is no number in [low, high].
std::function<void(const std::string&)> number_check(double low, double high);
double number_or(const CheckedField&, double usual);

}  // namespace trainyard
