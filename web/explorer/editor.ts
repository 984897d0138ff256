import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, isolateHistory } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintKeymap } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { graphql, updateSchema } from 'cm6-graphql'
import { loadSchema } from './schema.ts'

interface Options {
  parent: HTMLElement
  text: string
  /** Accessible name of the editor. */
  label: string
  /** Called with the new text after every change. */
  changed: (text: string) => void
}

/** Opens a GraphQL editor. After `loadSchema`, it completes names and marks errors. Tab moves the focus out of the editor. */
export function openEditor({ parent, text, label, changed }: Options): EditorView {
  // Keeps the editor from inserting a line; the form handles this key and sends the request.
  const send = { key: 'Mod-Enter', run: () => true }
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion(),
        keymap.of([send, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        syntaxHighlighting(colors),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label, 'aria-multiline': 'true' }),
        EditorView.updateListener.of(({ docChanged, state }) => void (docChanged && changed(state.doc.toString()))),
        ...graphql(),
      ],
    }),
  })
}

/** Replaces the text as a separate undo step. */
export function replaceText(editor: EditorView, text: string) {
  if (editor.state.doc.toString() === text) return
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text }, annotations: isolateHistory.of('full') })
}

/** Loads the schema for completion and validation. Rejects if it cannot be read; the editor then works without these features. */
export async function addSchema(editor: EditorView, address: string): Promise<void> {
  updateSchema(editor, await loadSchema(address))
}

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.definitionKeyword, tags.modifier], color: 'var(--ui-primary)' },
  { tag: [tags.string, tags.escape], color: 'var(--ui-success)' },
  { tag: [tags.number, tags.integer, tags.float, tags.bool, tags.null], color: 'var(--ui-warning)' },
  { tag: [tags.typeName, tags.atom], color: 'var(--ui-info)' },
  { tag: [tags.variableName, tags.special(tags.name)], color: 'var(--ui-error)' },
  { tag: [tags.comment, tags.punctuation, tags.bracket], color: 'var(--ui-text-muted)' },
])
