// A WordList holds words that the user makes up: chips that are on or off, a field that adds one,
// and under it why a word was refused.
#pragma once

#include <QStringList>
#include <QWidget>

#include <functional>
#include <string>
#include <vector>

class QLabel;
class QLineEdit;

namespace trainyard {

class ChipRow;

class WordList : public QWidget {
  Q_OBJECT

 public:
  struct Kind {
    QString title, hint;  // of the field
    /// Throws Error for what is no such word; its message is shown under the field.
    std::function<void(const std::string&)> check;
    /// Returns the title that a chip shows of its word; without it the chip shows the word.
    std::function<QString(const QString&)> chip = {};
    QStringList offered = {};  // completes what is typed
    QString files = {};        // filter of the dialog that adds files; empty: none
  };
  explicit WordList(const Kind&, QWidget* parent = nullptr);

  /// The words that are on until the user changes the list.
  void set_usual(const QStringList&);
  QStringList on() const;
  /// Returns these words in UTF-8.
  std::vector<std::string> words() const;
  /// Adds a word as if it were typed. Returns whether it is one.
  bool add(const QString&);
  /// Takes what is typed and not entered yet. Returns false where it was refused.
  bool commit();
  /// Shows the sentence under the field; empty: none.
  void refuse(const QString& sentence);
  QString refusal() const;

 Q_SIGNALS:
  void changed();

 private:
  void show_words(const QStringList& words, const QStringList& on);
  void choose_files();

  Kind kind_;
  bool mine_ = false;  // the user changed it
  ChipRow* chips_;
  QLineEdit* edit_;
  QLabel* refusal_;
};

}  // namespace trainyard
