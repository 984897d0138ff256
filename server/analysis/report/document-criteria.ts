import { amountOf } from '../dart/changes.ts'
import MarkdownIt, { type Token } from 'markdown-it'
import type { TextFile } from '../../registry/archive/documents.ts'
import { isOsiApproved, licensesOf } from '../../registry/archive/license.ts'
import { allOrNothing, code, type Fault, type Finding, firstOf, grantPoints, type Subject } from './judge.ts'

/** Rates the documents in the package root by pana's rules, except its preference for English. */
export function judgeDocuments({ contents, facts }: Subject): Finding[] {
  const { readme, changelog, license } = contents
  return [
    allOrNothing(
      { id: 'readme', title: 'Provide a valid `README.md`', maximum: 5 },
      documentFaults(readme, 'README.md', aboutReadme, facts.isPrivate),
      'The README exists and its links are valid.',
    ),
    allOrNothing(
      { id: 'changelog', title: 'Provide a valid `CHANGELOG.md`', maximum: 5 },
      [...documentFaults(changelog, 'CHANGELOG.md', aboutChangelog, facts.isPrivate), ...versionFaults(changelog, facts.version)],
      `It has an entry for ${code(facts.version)}.`,
    ),
    judgeLicense(license, facts.isPrivate),
  ]
}

const aboutReadme = 'Add a `README.md` that explains the purpose of the package and its installation, and shows its most common use.'
const aboutChangelog = 'Add a `CHANGELOG.md` with a heading for each version, such as `## 1.2.0`, and what changed for users below it.'

function documentFaults(file: TextFile | null, name: string, remedy: string, isPrivate: boolean): Fault[] {
  if (!file) return [{ fault: `There is no \`${name}\`.`, remedy }]
  if (file.text.trim() === '') return [{ fault: `${code(file.path)} is empty.`, remedy }]
  const { broken, insecure, isMalformed } = linksOf(file)
  const faults: Fault[] = []
  if (isMalformed) faults.push({ fault: `${code(file.path)} is not UTF-8.`, remedy: 'Save it as UTF-8.' })
  if (broken.length > 0)
    faults.push({ fault: `It has ${amountOf(broken.length, 'malformed URL')}: ${shown(broken)}.`, remedy: 'Correct them.' })
  if (insecure.length > 0 && !isPrivate) {
    const fault = `${code(file.path)} has ${amountOf(insecure.length, 'insecure link')}: ${shown(insecure)}.`
    faults.push({ fault, remedy: 'Use https URLs for links and images.' })
  }
  return faults
}

const shown = (urls: string[]) => firstOf(urls.map(code), 3)

/** A prerelease may be listed under the version of the upcoming release, so only the part before `-` or `+` is searched. */
function versionFaults(changelog: TextFile | null, version: string): Fault[] {
  const [release = version] = version.split(/[-+]/)
  if (!changelog?.text.trim() || changelog.text.includes(release)) return []
  const fault = `${code(changelog.path)} does not mention the version ${code(version)}.`
  return [{ fault, remedy: `Add a heading ${code(`## ${version}`)} and what changed in it.` }]
}

function judgeLicense(file: TextFile | null, isPrivate: boolean): Finding {
  const criterion = { id: 'license', title: 'Use an OSI-approved license', maximum: 10 }
  if (isPrivate) return { ...criterion, reason: 'The package is private: it needs no open-source license.' }
  const remedy = 'Add a `LICENSE` file with the whole text of an [OSI-approved license](https://opensource.org/licenses).'
  if (!file) return grantPoints(criterion, 0, 'There is no `LICENSE` file.', remedy)
  const ids = licensesOf(file.text)
  if (ids.length === 0) return grantPoints(criterion, 0, `The text of ${code(file.path)} does not match any known license.`, remedy)
  const refused = ids.filter((id) => !isOsiApproved(id)).map(code)
  if (refused.length > 0) return grantPoints(criterion, criterion.maximum / 2, `Not approved by the OSI: ${refused.join(', ')}.`, remedy)
  return grantPoints(criterion, criterion.maximum, `It is licensed under ${ids.map(code).join(' and ')}.`)
}

type Links = { broken: string[]; insecure: string[]; isMalformed: boolean }

/** Returns the malformed and insecure URLs of links and images in a Markdown text, including those in HTML. */
function linksOf({ text }: TextFile): Links {
  const found = new Set(addresses(markdown.parse(text, {})))
  const links: Links = { broken: [], insecure: [], isMalformed: text.includes('\ufffd') }
  for (const address of found) {
    const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(address) ?? []
    if (!URL.canParse(address, 'https://example.com')) links.broken.push(address)
    else if (scheme && !/^(?:https|mailto)$/i.test(scheme)) links.insecure.push(address)
  }
  return links
}

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
