import { amountOf } from '../dart/changes.ts'
import MarkdownIt, { type Token } from 'markdown-it'
import type { TextFile } from '../../registry/archive/documents.ts'
import { isOsiApproved, licensesOf } from '../../registry/archive/license.ts'
import { firstLineAbout } from '../../registry/archive/changelog.ts'
import { check, code, type Fault, firstOf, type Subject } from './judge.ts'
import type { Criterion } from './report.ts'

/** Checks the changelog and the license. */
export function judgeDocuments({ contents: { changelog, license }, facts }: Subject): Criterion[] {
  const text = changelog && outlineOf(changelog)
  return [
    check(
      { id: 'changelog', title: 'Describe this version in `CHANGELOG.md`' },
      [...documentFaults('CHANGELOG.md', aboutChangelog, text, facts.isPrivate), ...entryFaults(changelog, facts.version)],
      `It has an entry for ${code(facts.version)}.`,
    ),
    check({ id: 'license', title: 'Use an OSI-approved license' }, ...licenseFaults(license, facts.isPrivate)),
  ]
}

/** Minimum length of the text of a README, in words outside of code. */
const wantedWords = 80

/** Checks whether the README explains the package, shows code, and describes how to install or use the package. */
export function judgeReadme({ contents: { readme }, facts }: Subject): Criterion[] {
  const text = readme && outlineOf(readme)
  const { words = 0, code: blocks = [], headings = [], isEmpty = true } = text ?? {}
  const amount = amountOf(words, 'word')
  const isShort = !isEmpty && words < wantedWords
  const hasUsage = headings.some((heading) => aboutUsage.test(heading)) || blocks.some((block) => uses(block, facts.name))
  return [
    check(
      { id: 'readme', title: 'Explain the package in `README.md`' },
      [
        ...documentFaults('README.md', aboutReadme, text, facts.isPrivate),
        ...(isShort ? [{ fault: `The text of the README has only ${amount}.`, remedy: aboutReadme }] : []),
      ],
      `The README has ${amount}, and its links are valid.`,
    ),
    check({ id: 'readme-code', title: 'Show code in the README' }, blocks.length === 0 ? [withoutCode] : [], 'The README has code blocks.'),
    check(
      { id: 'readme-usage', title: 'Describe installation or usage in the README' },
      hasUsage ? [] : [withoutUsage],
      'The README describes installation or usage.',
    ),
  ]
}

const withoutCode: Fault = {
  fault: 'The README has no code block.',
  remedy: 'Add a short program that shows the most common use, between lines of three backticks.',
}
const withoutUsage: Fault = {
  fault: 'The README has no section on installation or usage, and no code that imports or adds the package.',
  remedy: 'Add a section with a heading such as `## Usage` or `## Getting started`.',
}

/** Whether code imports a package, adds it to an app, or depends on it. */
const uses = (block: string, name: string): boolean =>
  new RegExp(`\\bpackage:${name}/|\\badd (?:\\S+ )?${name}\\b|^ *${name}:`, 'm').test(block)

const aboutUsage =
  /\b(?:us(?:age|e|ing)|install\w*|set ?-?up|get(?:ting)? started|quick ?-?start|how to|examples?|tutorial|guide|demo|configur\w+|initiali[sz]\w+|integrat\w+|add(?:ing)?|import\w*|run(?:ning)?|basics?|verwendung|nutzung|beispiele?|uso|instalaci[oó]n|utilisation)\b|使用|用法|安装|安裝|快速|示例|開始|使い方|インストール|사용|설치|установка|использование|пример/iu

/** Checks for an example that uses the package. Source of the places: pub's package layout. */
export function judgeExample({ contents: { example, pubspec } }: Subject): Criterion {
  const wanted = `Add a short program that uses the package as \`example/${pubspec.needsFlutter ? 'lib/main.dart' : 'main.dart'}\`, or describe its use in \`example/README.md\`.`
  const faults = example ? exampleFaults(example, wanted) : [{ fault: 'There is no example in `example/`.', remedy: wanted }]
  return check({ id: 'example', title: 'Provide an example' }, faults, `${code(example?.path ?? '')} is the example.`)
}

/** Minimum number of lines of an example that are not blank. `flutter create` and `dart create` write more, a placeholder has fewer. */
const wantedLines = 5

function exampleFaults({ path, text }: TextFile, remedy: string): Fault[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '').length
  return lines >= wantedLines ? [] : [{ fault: `${code(path)} has only ${amountOf(lines, 'line')}.`, remedy }]
}

const aboutReadme = `Write a \`README.md\` of at least ${wantedWords} words that explains the purpose of the package and its most common use.`
const aboutChangelog = 'Add a `CHANGELOG.md` with a heading for each version, such as `## 1.2.0`, and what changed for users below it.'

function documentFaults(name: string, remedy: string, text: Outline | null, isPrivate: boolean): Fault[] {
  if (!text) return [{ fault: `There is no \`${name}\`.`, remedy }]
  const { path, broken, insecure, isMalformed, isEmpty } = text
  if (isEmpty) return [{ fault: `${code(path)} is empty.`, remedy }]
  const faults: Fault[] = []
  if (isMalformed) faults.push({ fault: `${code(path)} is not UTF-8.`, remedy: 'Save it as UTF-8.' })
  if (broken.length > 0)
    faults.push({ fault: `It has ${amountOf(broken.length, 'malformed URL')}: ${shown(broken)}.`, remedy: 'Correct them.' })
  if (insecure.length > 0 && !isPrivate) {
    const fault = `${code(path)} has ${amountOf(insecure.length, 'insecure link')}: ${shown(insecure)}.`
    faults.push({ fault, remedy: 'Use https URLs for links and images.' })
  }
  return faults
}

const shown = (urls: string[]) => firstOf(urls.map(code), 3)

/** A prerelease may be listed under the version of the upcoming release. */
function entryFaults(changelog: TextFile | null, version: string): Fault[] {
  if (!changelog?.text.trim()) return []
  const [release = version] = version.split(/[-+]/)
  if ([version, release].some((one) => firstLineAbout(changelog.text, one) !== null)) return []
  const fault = `${code(changelog.path)} does not describe the version ${code(version)}.`
  return [{ fault, remedy: `Add a heading ${code(`## ${version}`)} and what changed in it.` }]
}

function licenseFaults(file: TextFile | null, isPrivate: boolean): [faults: Fault[], passed: string] {
  if (isPrivate) return [[], 'The package is private: it needs no open-source license.']
  const remedy = 'Add a `LICENSE` file with the whole text of an [OSI-approved license](https://opensource.org/licenses).'
  if (!file) return [[{ fault: 'There is no `LICENSE` file.', remedy }], '']
  const ids = licensesOf(file.text)
  if (ids.length === 0) return [[{ fault: `The text of ${code(file.path)} does not match any known license.`, remedy }], '']
  const refused = ids.filter((id) => !isOsiApproved(id)).map(code)
  if (refused.length > 0) return [[{ fault: `Not approved by the OSI: ${refused.join(', ')}.`, remedy }], '']
  return [[], `It is licensed under ${ids.map(code).join(' and ')}.`]
}

type Outline = {
  path: string
  isEmpty: boolean
  isMalformed: boolean
  /** Malformed and insecure URLs of links and images, including those in HTML. */
  broken: string[]
  insecure: string[]
  /** Number of words outside of code. */
  words: number
  headings: string[]
  /** Code blocks that are not blank. */
  code: string[]
}

function outlineOf({ path, text }: TextFile): Outline {
  const tokens = markdown.parse(text, {})
  const html = tokens.filter(({ type }) => type === 'html_block').map(({ content }) => content)
  const texts = tokens.flatMap((token) => (token.type === 'inline' ? plainText(token) : []))
  const headings = tokens.flatMap((token, index) => (tokens[index - 1]?.type === 'heading_open' ? plainText(token) : []))
  const fences = tokens.flatMap(({ type, content }) => (type === 'fence' || type === 'code_block' ? [content] : []))
  const found = new Set(addresses(tokens))
  const schemeOf = (address: string) => /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1] ?? ''
  const [valid, broken] = [[...found].filter(isValid), [...found].filter((address) => !isValid(address))]
  return {
    path,
    isEmpty: text.trim() === '',
    isMalformed: text.includes('\ufffd'),
    broken,
    insecure: valid.filter((address) => schemeOf(address) && !/^(?:https|mailto)$/i.test(schemeOf(address))),
    words: countWords([...texts, ...html.map(withoutTags)].join('\n')),
    headings: [
      ...headings,
      ...html.flatMap((block) => [...block.matchAll(/<h[1-6][^>]{0,200}>([^<]{1,200})/gi)].map(([, heading = '']) => heading)),
    ],
    code: [...fences, ...html.filter((block) => /<pre[\s>]/i.test(block))].filter((block) => block.trim() !== ''),
  }
}

const isValid = (address: string): boolean => URL.canParse(address, 'https://example.com')
const withoutTags = (html: string): string => html.replaceAll(/<!--[\s\S]*?-->|<[^<>]{0,2000}>/g, ' ')
const plainText = ({ children }: Token): string =>
  (children ?? []).map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : ' ')).join('')

/** Longer texts are truncated before their words are counted. */
const countedCharacters = 20_000
/** Also divides texts in languages that write no spaces between words. */
const words = new Intl.Segmenter('en', { granularity: 'word' })
const countWords = (text: string): number =>
  [...words.segment(text.slice(0, countedCharacters))].filter(({ isWordLike }) => isWordLike).length

const markdown = new MarkdownIt({ html: true })
// By default, markdown-it drops links that it considers unsafe. The report must list them.
markdown.validateLink = () => true

function addresses(tokens: readonly Token[]): string[] {
  return tokens.flatMap(({ type, content, children, attrs }) => {
    if (type === 'html_block' || type === 'html_inline') return [...content.matchAll(htmlAddress)].map(([, address = '']) => address)
    const own = (attrs ?? []).flatMap(([name, value]) => (name === 'href' || name === 'src' ? [String(value)] : []))
    return [...own, ...addresses(children ?? [])]
  })
}

const htmlAddress = /<(?:a|img)\s[^<>]{0,2000}?\b(?:href|src)\s*=\s*["']([^"'<>]{1,2000})["']/gi
