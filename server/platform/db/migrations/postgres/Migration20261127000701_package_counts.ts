import { Migration } from '@mikro-orm/migrations'

// The dependencies of latest versions by the name of the dependency, and counts of them, of versions and of archive bytes, so that a list reads only
// the rows of its page. Triggers keep them up to date, also for servers of the previous release. They are filled here, and compared with the other
// tables when the server starts (server/registry/packages/dependents/service.ts). A source is the URL of a registry, empty if the dependency names none, and '-'
// if there is no dependency of this kind.
// Counts of dependents change at the commit, in one transaction after the other: transactions that change the counts of several packages in different
// orders would deadlock.
export class Migration20261127000701_package_counts extends Migration {
  override up() {
    this.addSql('create table "package_dependents" ("name" varchar(64) collate "C" not null, "package_name" varchar(64) collate "C" not null, "package_id" uuid not null references "packages" ("id") on delete cascade, "version" varchar(64) not null, "direct_constraint" text null, "direct_source" text not null, "dev_constraint" text null, "dev_source" text not null, primary key ("name", "package_name"));')
    this.addSql('create index "package_dependents_package_id_index" on "package_dependents" ("package_id", "name");')
    this.addSql('create table "dependent_counts" ("name" varchar(64) collate "C" not null, "direct_source" text not null, "dev_source" text not null, "dependents" bigint not null, primary key ("name", "direct_source", "dev_source"));')
    this.addSql('create table "package_totals" ("package_id" uuid not null primary key references "packages" ("id") on delete cascade, "name" varchar(64) collate "C" not null, "versions" bigint not null, "archive_bytes" bigint not null);')
    this.addSql('create index "package_totals_versions_index" on "package_totals" ("versions" desc, "name");')
    this.addSql('create index "package_totals_archive_bytes_index" on "package_totals" ("archive_bytes" desc, "name");')
    this.addSql(`insert into package_dependents ${select('true')};`)
    this.addSql(`insert into dependent_counts (name, direct_source, dev_source, dependents)
      select name, direct_source, dev_source, count(*) from package_dependents group by name, direct_source, dev_source;`)
    this.addSql(`insert into package_totals (package_id, name, versions, archive_bytes)
      select p.id, p.name, count(*), sum(v.archive_bytes) from packages p join package_versions v on v.package_id = p.id group by p.id, p.name;`)
    this.addSql(`create function package_dependents_count() returns trigger language plpgsql as $$ begin
      if tg_op = 'UPDATE' and (old.direct_source, old.dev_source) = (new.direct_source, new.dev_source) then return null; end if;
      perform pg_advisory_xact_lock(7305514903);
      if tg_op <> 'INSERT' then
        update dependent_counts set dependents = dependents - 1
          where name = old.name and direct_source = old.direct_source and dev_source = old.dev_source;
      end if;
      if tg_op <> 'DELETE' then
        insert into dependent_counts (name, direct_source, dev_source, dependents) values (new.name, new.direct_source, new.dev_source, 1)
          on conflict (name, direct_source, dev_source) do update set dependents = dependent_counts.dependents + 1;
      end if;
      delete from dependent_counts where name = coalesce(new.name, old.name) and dependents = 0;
      return null;
    end $$;`)
    this.addSql(`create function package_dependencies_dependents() returns trigger language plpgsql as $$ begin
      ${store('v.id in (select version_id from added) and d.name in (select name from added)')}
      return null;
    end $$;`)
    this.addSql(`create function packages_dependents() returns trigger language plpgsql as $$ begin
      delete from package_dependents where package_id = new.id and name not in (select name from (${select('p.id = new.id')}) kept);
      ${store('p.id = new.id')}
      return null;
    end $$;`)
    this.addSql(`create function package_versions_total() returns trigger language plpgsql as $$ begin
      if tg_op = 'INSERT' then
        insert into package_totals (package_id, name, versions, archive_bytes) select id, name, 1, new.archive_bytes from packages where id = new.package_id
          on conflict (package_id) do update set versions = package_totals.versions + 1,
            archive_bytes = package_totals.archive_bytes + excluded.archive_bytes;
      else
        update package_totals set versions = versions - 1, archive_bytes = archive_bytes - old.archive_bytes where package_id = old.package_id;
      end if;
      return null;
    end $$;`)
    // Without a fixed search path, a temporary table of the same name would take precedence.
    for (const name of ['package_dependents_count', 'package_dependencies_dependents', 'packages_dependents', 'package_versions_total'])
      this.addSql(`do $$ begin execute format('alter function ${name}() set search_path = %I, pg_temp', current_schema()); end $$;`)
    this.addSql(`create constraint trigger package_dependents_count after insert or update or delete on package_dependents
      deferrable initially deferred for each row execute function package_dependents_count();`)
    this.addSql(`create trigger package_dependencies_dependents after insert on package_dependencies referencing new table as added
      for each statement execute function package_dependencies_dependents();`)
    this.addSql(`create trigger packages_dependents after update of latest_version on packages
      for each row when (old.latest_version <> new.latest_version) execute function packages_dependents();`)
    this.addSql(`create trigger package_versions_total after insert or delete on package_versions
      for each row execute function package_versions_total();`)
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
