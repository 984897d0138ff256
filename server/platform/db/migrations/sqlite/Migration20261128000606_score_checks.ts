import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000606_score_checks extends Migration {
  override up() {
    // Earlier percentages are shares of points, whose maximum differs between packages. Analyze the latest versions again.
    this.addSql('alter table `score_reports` add column `checks_percent` integer null;')
    this.addSql(`insert into jobs (id, created_at, kind, subject, payload, state, priority, run_at)
      select r.version_id, cast(unixepoch('subsec') * 1000 as integer), 'analysis', r.version_id, '{}', 'queued', 10, cast(unixepoch('subsec') * 1000 as integer)
      from score_reports r join package_versions v on v.id = r.version_id
      join packages p on p.id = v.package_id and p.latest_version = v.version
      where r.granted is not null on conflict do nothing;`)
  }
}
