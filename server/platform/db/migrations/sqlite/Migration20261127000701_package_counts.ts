import { Migration } from '@mikro-orm/migrations'

// The dependencies of latest versions by the name of the dependency, and counts of them, of versions and of archive bytes, so that a list reads only
// the rows of its page. Triggers keep them up to date, also for servers of the previous release. They are filled here, and compared with the other
// tables when the server starts (server/registry/packages/dependents/service.ts). A source is the URL of a registry, empty if the dependency names none, and '-'
// if there is no dependency of this kind.
export class Migration20261127000701_package_counts extends Migration {
  override up() {
    this.addSql('create table `package_dependents` (`name` text not null, `package_name` text not null, `package_id` text not null references `packages` (`id`) on delete cascade, `version` text not null, `direct_constraint` text null, `direct_source` text not null, `dev_constraint` text null, `dev_source` text not null, primary key (`name`, `package_name`));')
    this.addSql('create index `package_dependents_package_id_index` on `package_dependents` (`package_id`, `name`);')
    this.addSql('create table `dependent_counts` (`name` text not null, `direct_source` text not null, `dev_source` text not null, `dependents` integer not null, primary key (`name`, `direct_source`, `dev_source`));')
    this.addSql('create table `package_totals` (`package_id` text not null primary key references `packages` (`id`) on delete cascade, `name` text not null, `versions` integer not null, `archive_bytes` integer not null);')
    this.addSql('create index `package_totals_versions_index` on `package_totals` (`versions` desc, `name`);')
    this.addSql('create index `package_totals_archive_bytes_index` on `package_totals` (`archive_bytes` desc, `name`);')
    this.addSql(`insert into package_dependents ${select('true')};`)
    this.addSql(`insert into dependent_counts (name, direct_source, dev_source, dependents)
      select name, direct_source, dev_source, count(*) from package_dependents group by name, direct_source, dev_source;`)
    this.addSql(`insert into package_totals (package_id, name, versions, archive_bytes)
      select p.id, p.name, count(*), sum(v.archive_bytes) from packages p join package_versions v on v.package_id = p.id group by p.id, p.name;`)
    this.addSql(`create trigger package_dependents_insert after insert on package_dependents begin ${count('new', '+ 1')} end;`)
    this.addSql(`create trigger package_dependents_delete after delete on package_dependents begin ${count('old', '- 1')} end;`)
    this.addSql(`create trigger package_dependents_update after update of direct_source, dev_source on package_dependents
      when old.direct_source <> new.direct_source or old.dev_source <> new.dev_source begin ${count('old', '- 1')} ${count('new', '+ 1')} end;`)
    this.addSql(`create trigger package_dependencies_dependents after insert on package_dependencies begin
      ${store('d.version_id = new.version_id and d.name = new.name')}
    end;`)
    this.addSql(`create trigger packages_dependents after update of latest_version on packages when old.latest_version <> new.latest_version begin
      delete from package_dependents where package_id = new.id and name not in (select name from (${select('p.id = new.id')}));
      ${store('p.id = new.id')}
    end;`)
    this.addSql(`create trigger package_versions_total_insert after insert on package_versions begin
      insert into package_totals (package_id, name, versions, archive_bytes) select id, name, 1, new.archive_bytes from packages where id = new.package_id
        on conflict (package_id) do update set versions = versions + 1, archive_bytes = archive_bytes + excluded.archive_bytes;
    end;`)
    this.addSql(`create trigger package_versions_total_delete after delete on package_versions begin
      update package_totals set versions = versions - 1, archive_bytes = archive_bytes - old.archive_bytes where package_id = old.package_id;
    end;`)
  }
}

const select = (condition: string) => `select d.name, p.name as package_name, p.id, v.version,
    max(case d.kind when 'direct' then d."constraint" end), coalesce(max(case d.kind when 'direct' then coalesce(d.hosted_url, '') end), '-'),
    max(case d.kind when 'dev' then d."constraint" end), coalesce(max(case d.kind when 'dev' then coalesce(d.hosted_url, '') end), '-')
  from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version join package_dependencies d on d.version_id = v.id
  where d.sdk is null and ${condition} group by d.name, p.name, p.id, v.version`

const columns = ['version', 'direct_constraint', 'direct_source', 'dev_constraint', 'dev_source']

const store = (condition: string) => `insert into package_dependents ${select(condition)}
  on conflict (name, package_name) do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')};`

const count = (row: 'new' | 'old', by: '+ 1' | '- 1') => `insert into dependent_counts (name, direct_source, dev_source, dependents)
    values (${row}.name, ${row}.direct_source, ${row}.dev_source, 0 ${by})
    on conflict (name, direct_source, dev_source) do update set dependents = dependents ${by};
  delete from dependent_counts where name = ${row}.name and dependents = 0;`
