/** Returns an advisory about a package in OSV format. */
export function advisory(
  id: string,
  packageName: string,
  options: { events?: object[]; versions?: string[]; [field: string]: unknown } = {},
) {
  const { events, versions, ...fields } = options
  return {
    schema_version: '1.6.0',
    id,
    modified: '2026-01-10T00:00:00Z',
    published: '2026-01-09T00:00:00Z',
    aliases: ['CVE-2026-0001'],
    summary: `A hole in ${packageName}`,
    details: `# What\n\n${packageName} forgets to **check**.`,
    affected: [
      {
        package: { ecosystem: 'Pub', name: packageName },
        ...(events && { ranges: [{ type: 'ECOSYSTEM', events }] }),
        ...(versions && { versions }),
      },
    ],
    ...fields,
  }
}

export const importMutation = 'mutation ($osv: String!) { importAdvisories(input: { osv: $osv }) { imported updated unchanged } }'
