import { code, counted, firstOf, type Subject } from './judge.ts'
import { leftoversIn } from './sizes.ts'

/** Returns notes in Markdown that do not affect the points. */
export function notesOn({ contents, api }: Subject): string[] {
  const notes = leftoversIn(contents.files).map(
    ({ folder, bytes }) =>
      `The archive has ${code(folder)} (${Math.ceil(bytes / 1024)} KB), which users do not need. Add it to \`.pubignore\`.`,
  )
  if (contents.tooLarge.length > 0) notes.push(`Too large to be read: ${firstOf(contents.tooLarge.map(code))}. Their API is missing here.`)
  if (contents.notText.length > 0) notes.push(`Not text: ${firstOf(contents.notText.map(code))}. Their API is missing here.`)
  if (api.unclear.length > 0)
    notes.push(
      `Some code in ${counted(api.unclear.length, 'file')} could not be parsed: ${firstOf(api.unclear.map((path) => code(path)))}.`,
    )
  return notes
}
