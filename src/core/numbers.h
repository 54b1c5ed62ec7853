/* Numbers as text have a decimal point in everything that mawam reads and writes, whatever language the
 * program around it has chosen (setlocale): the functions of the public interface that meet such text say so
 * first. */
#ifndef MW_CORE_NUMBERS_H
#define MW_CORE_NUMBERS_H

#include <locale.h>

locale_t mw_plain_numbers_begin(void); /* for this thread; what was before */
void mw_plain_numbers_end(locale_t *before);

/* Among the declarations of a function: until it returns. */
#define MW_PLAIN_NUMBERS                                                                                     \
    __attribute__((cleanup(mw_plain_numbers_end), unused)) locale_t mw_numbers_before_ =                     \
        mw_plain_numbers_begin()

#endif
