import fc from 'fast-check'
import { expect, it } from 'vitest'
import { queryTerms, spellingTerms, termsOf } from '../../../server/registry/search/terms.ts'

it('indexes camel case words whole and in parts', () => {
  for (const [text, terms] of Object.entries({
    ImagePicker: ['imagepicker', 'image', 'picker'],
    imagePicker: ['imagepicker', 'image', 'picker'],
    PDFViewer: ['pdfviewer', 'pdf', 'viewer'],
    'parseHTML5Document()': ['parsehtml5document', 'parse', 'html5', 'document'],
    utf8Decoder: ['utf8decoder', 'utf8', 'decoder'],
    iOS: ['ios'],
    OAuth: ['oauth'],
    HTTP: ['http'],
    Http: ['http'],
    'state-management': ['state', 'management'],
  }))
    expect({ text, terms: termsOf(text) }).toEqual({ text, terms })
})

it('searches for camel case words whole or in parts', () => {
  expect(queryTerms('imagePicker')).toEqual({
    names: ['image_picker', 'imagepicker'],
    words: [
      { exact: ['image', 'imagepicker'], prefixes: ['image', 'imagepicker'] },
      { exact: ['picker', 'imagepicker'], prefixes: ['picker', 'imagepicker'] },
    ],
    namesOnly: false,
  })
})

it('generates a common spelling for words that differ by one typo', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 4, maxLength: 12 })
  const mistakes = fc.record({
    word,
    at: fc.nat(11),
    letter: fc.constantFrom('a', 'b', 'x', 'y'),
    kind: fc.constantFrom('more', 'less', 'other', 'swapped'),
  })
  fc.assert(
    fc.property(mistakes, ({ word: meant, at: anywhere, letter, kind }) => {
      const at = anywhere % meant.length
      const [before, after] = [meant.slice(0, at), meant.slice(at + 1)]
      const typed = {
        more: before + letter + meant.slice(at),
        less: before + after,
        other: before + letter + after,
        swapped: before + after.slice(0, 1) + meant.charAt(at) + after.slice(1),
      }[kind]
      const known = new Set(spellingTerms(meant))
      expect(spellingTerms(typed).some((term) => known.has(term))).toBe(true)
    }),
  )
  expect(spellingTerms('http').filter((term) => spellingTerms('json').includes(term))).toEqual([])
})
